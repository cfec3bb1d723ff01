"""Authentication by sign-in link only."""

from __future__ import annotations

from django.http import HttpRequest

from people.models import Person, SignInLink


class SignInLinkBackend:
    """Knows a person by a one-time token; there is nothing else to guess."""

    def authenticate(self, request: HttpRequest | None, token: str = "") -> Person | None:
        return SignInLink.redeem(token) if token else None

    def get_user(self, user_id: int) -> Person | None:
        return Person.objects.filter(pk=user_id, is_active=True).first()
