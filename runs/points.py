"""A run's samples behind a cursor: what the live page back-fills with and is fed by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runs.charts import READ, columns
from runs.models import Attempt, LogStream, Run

BATCH = 2000  # samples in one live event
MOST = 20_000  # samples in one answer of the API


@dataclass(frozen=True)
class Cursor:
    """How far a watcher has read: an attempt and the number of its last sample."""

    attempt: int
    seq: int


def newest_stream(run_id: int) -> tuple[int, LogStream | None]:
    """The newest attempt's number (0: none yet) and its server log."""
    attempt = Attempt.objects.filter(run=run_id).order_by("-n").first()
    if attempt is None:
        return 0, None
    return attempt.n, attempt.streams.filter(role=LogStream.Role.SERVER).first()


def points_after(stream: LogStream | None, seq: int, limit: int) -> dict[str, Any]:
    """Columns of the samples behind ``seq``, at most ``limit``; ``more``: some are left."""
    if stream is None:
        return {**columns([]), "more": False}
    later = stream.samples.filter(seq__gt=seq).order_by("seq")
    # plain rows: a model instance each would cost ten times as much
    rows = list(later.values_list(*READ, named=True)[: limit + 1])
    return {**columns(rows[:limit]), "more": len(rows) > limit}


def points(run: Run, *, after: int, limit: int) -> dict[str, Any]:
    """The API's answer for one run."""
    attempt, stream = newest_stream(run.pk)
    return {"attempt": attempt, **points_after(stream, after, limit)}
