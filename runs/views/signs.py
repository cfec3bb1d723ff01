"""What every page says when a kind of process has gone silent."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from runs.models import Sign


def silent_worker(request: HttpRequest) -> dict[str, Any]:
    """``silent_worker``: the workers' last sign if it is too old; asked only where it is shown."""
    last = SimpleLazyObject(lambda: Sign.silent_since(Sign.WORKER, settings.DURATIONS.deaf))
    return {"silent_worker": last}
