from django.urls import path

from hosts import views

urlpatterns = [
    path("hosts/", views.host_list, name="host-list"),
    path("hosts/add/", views.host_add, name="host-add"),
    path("hosts/add/ssh-config/", views.host_paste, name="host-paste"),
    path("hosts/<slug:name>/", views.host_detail, name="host-detail"),
    path("hosts/<slug:name>/edit/", views.host_edit, name="host-edit"),
    path("hosts/<slug:name>/key/", views.host_confirm_key, name="host-confirm-key"),
    path("hosts/<slug:name>/probe/", views.host_probe, name="host-probe"),
    path("hosts/<slug:name>/unit/", views.host_unit, name="host-unit"),
    path("hosts/<slug:name>/free/<int:pk>/", views.host_free, name="host-free"),
    path("hosts/<slug:name>/try-again/", views.host_try_again, name="host-try-again"),
    path("hosts/<slug:name>/take-over/", views.host_take_over, name="host-take-over"),
]
