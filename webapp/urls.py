"""Every address of the site."""

from django.urls import include, path

from runs.api import api

urlpatterns = [
    path("", include("people.urls")),
    path("", include("hosts.urls")),
    path("", include("runs.urls")),
    path("api/v1/", api.urls),
]

handler400 = "webapp.errors.bad_request"
handler500 = "webapp.errors.server_error"
