from django.urls import path

from people import views

urlpatterns = [
    path("sign-in/", views.sign_in, name="sign-in"),
    path("sign-in/<str:token>/", views.sign_in, name="sign-in-link"),
    path("sign-out/", views.sign_out, name="sign-out"),
]
