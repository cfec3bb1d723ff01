"""Who asks."""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest

from people.models import Person


def person(request: HttpRequest) -> Person:
    """The person signed in; every page but the signed-out ones has one."""
    return cast(Person, request.user)
