"""Sign in by link, sign out."""

from __future__ import annotations

from django.contrib.auth import authenticate, login, logout
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest, token: str = "") -> HttpResponse:
    """Ask for a link, or redeem one.

    A GET changes nothing (chat programs open links to preview them): the page shows one button,
    and its POST uses the link up.
    """
    if request.user.is_authenticated:
        return redirect("overview")
    if request.method == "POST":
        person = authenticate(request, token=token or _pasted(request.POST.get("token", "")))
        if person is not None:
            login(request, person)
            return redirect("overview")
        return render(request, "people/sign_in.html", {"refused": True}, status=403)
    return render(request, "people/sign_in.html", {"token": token})


def _pasted(value: str) -> str:
    """The token of a pasted link, or of a pasted token."""
    return value.strip().rstrip("/").rsplit("/", 1)[-1]


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("sign-in")
