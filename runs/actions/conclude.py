"""Judge a finished attempt: levels from log and client together, start-up facts, caveats."""

from __future__ import annotations

from django.db import transaction

from runs.models import Attempt


@transaction.atomic
def judge_attempt(*, attempt: Attempt) -> None:
    """Safe to repeat: everything here is derived again from samples, levels and events."""
    raise NotImplementedError
