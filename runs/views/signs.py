"""What every page says: workers gone silent, Redis that takes no messages, a disk that fills."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from runs.models import Sign

LITTLE_BYTES = 512 * 1024 * 1024  # of free disk beside SQLite; PostgreSQL's disk is not ours to see


def troubles(request: HttpRequest) -> dict[str, Any]:
    """``troubles.worker``, ``troubles.broker_away`` (signs) and ``troubles.disk`` (free bytes).

    They are asked for only where they are shown.
    """

    def look() -> dict[str, Any]:
        found = Sign.troubles(settings.DURATIONS.deaf)
        signs = {name.replace("-", "_"): sign for name, sign in found.items()}
        free = free_bytes()
        return signs if free is None or free >= LITTLE_BYTES else {**signs, "disk": free}

    return {"troubles": SimpleLazyObject(look)}


def free_bytes() -> int | None:
    """Beside the SQLite file; ``None`` for any other database."""
    told = settings.DATABASES["default"]
    folder = Path(str(told["NAME"])).parent
    if not str(told["ENGINE"]).endswith("sqlite3") or not folder.is_dir():
        return None
    return shutil.disk_usage(folder).free
