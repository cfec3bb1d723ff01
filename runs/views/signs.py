"""What every page says when a kind of process has gone silent, or Redis takes no messages."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from runs.models import Sign


def troubles(request: HttpRequest) -> dict[str, Any]:
    """``troubles.worker``, ``troubles.broker_away``: signs; asked only where they are shown."""

    def look() -> dict[str, Sign]:
        found = Sign.troubles(settings.DURATIONS.deaf)
        return {name.replace("-", "_"): sign for name, sign in found.items()}

    return {"troubles": SimpleLazyObject(look)}
