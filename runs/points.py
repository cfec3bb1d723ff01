"""A run's samples behind a cursor: what the live page back-fills with and is fed by."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from runs.charts import READ, columns
from runs.models import Attempt, LogStream, Run
from runs.outlines import thinned, thinned_between

BATCH = 2000  # samples in one live event
MOST = 20_000  # samples in one answer of the API
CSV_COLUMNS = (
    *("seq", "time", "printed_time", "phase", "rank", "running", "waiting", "tokens"),
    *("token_usage", "accept_len", "accept_rate", "graph", "output_tps", "input_tps", "new_seq"),
    *("new_tokens", "cached_tokens", "offset", "line"),
)


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


def thinned_points(
    run: Run, *, most: int, start: float | None = None, end: float | None = None
) -> dict[str, Any]:
    """The whole run in a bounded number of points, or what was printed from ``start`` to ``end``.

    Live points follow behind ``last``.
    """
    attempt, stream = newest_stream(run.pk)
    if stream is None:
        told: dict[str, Any] = {**columns([]), "more": False, "last": 0, "total": 0}
        return {"attempt": attempt, **told}
    if start is None and end is None:
        return {"attempt": attempt, **thinned(stream, most=most)}
    begin, stop = (-1e15 if start is None else start), (1e15 if end is None else end)
    return {"attempt": attempt, **thinned_between(stream, begin, stop, most=most)}


def samples_csv(stream: LogStream) -> Iterator[bytes]:
    """All samples as they are stored, in pieces; what a line does not tell is empty.

    Asked for by number, so that no connection holds a million rows.
    """
    yield (",".join(CSV_COLUMNS) + "\r\n").encode()
    last = 0
    while True:
        later = stream.samples.filter(seq__gt=last).order_by("seq")
        rows = list(later.values_list(*CSV_COLUMNS)[:BATCH])
        if not rows:
            return
        out = io.StringIO()
        csv.writer(out).writerows([_safe(value) for value in row] for row in rows)
        yield out.getvalue().encode()
        last = rows[-1][0]


def _safe(value: Any) -> Any:
    """A text of a log that a spreadsheet would take for a formula is quoted as a text."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value
