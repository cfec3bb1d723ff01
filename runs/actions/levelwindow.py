"""The one window of a level: found from client and log, or moved by hand, and stored.

Pages, exports and the ledger read what stands here. It is determined anew only when a run is
judged, an import is read again, or somebody moves it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, cast

from django.db import transaction
from django.db.models import QuerySet

from runs.actions.levelrequests import requests_of
from runs.drivers.load_records import Request
from runs.intake.windows import busy, mean_of
from runs.metrics.acceptance import level_accept_len
from runs.metrics.lines import TOLD, Row, by_passes, by_seconds, is_by_time, seconds_of
from runs.metrics.passes import Line, factors, inside
from runs.metrics.steady import Misplaced, Span, Steady, by_hand, steady, tokens_inside
from runs.models import Attempt, Level, LogStream, Sample, WindowMove
from runs.runlines import decode_passes, even_part, is_speculative

# Of what `look` finds. Whoever changes a formula raises it: what is older is then found anew.
FORMULA = 2
LOOKED = ("window_start", "window_end", "window_source", "window_why", "factors", "formula")
WINDOW_FIELDS = (*LOOKED, "window_tps", "output_tps")
# Of a longer level a part of the lines is read, chosen evenly.
MOST_LINES = 100_000
_READ = ("phase", "time", "rank", "running", "waiting", "output_tps", "accept_len", "extras")


def settle(level: Level, rows: Sequence[Row]) -> None:
    """Set the window of a level that is done, and what client and log say inside it.

    ``rows`` are the level's lines in the log's order. Nothing is saved: see WINDOW_FIELDS.
    """
    _count_client(level, look(level, rows))


def look(level: Level, rows: Sequence[Row]) -> Steady | None:
    """Set the window, and what the log says inside it; the client's figures stay."""
    lines = lines_of(level, rows)
    whole = whole_of(level, lines)
    if whole is None:
        window = None
    else:
        window = _moved(level, whole, lines)
        window = window or steady(whole, lines, _curve(level), level.concurrency)
    level.window_start = window.span.start if window else None
    level.window_end = window.span.end if window else None
    level.window_source = window.source if window else ""
    level.window_why = window.why if window else ""
    level.factors = _factors(level, window, lines, by_time=is_by_time(rows))
    level.formula = FORMULA
    return window


def lines_of(level: Level, rows: Sequence[Row]) -> list[Line]:
    if is_by_time(rows):
        return by_seconds(rows)
    return by_passes(rows, decode_passes(level.attempt.run.arm))


def whole_of(level: Level, lines: Sequence[Line]) -> Span | None:
    """All of the level; None where nothing tells when it was."""
    if level.started is not None and level.ended is not None:
        whole = Span(level.started, level.ended)
    elif lines:
        whole = Span(lines[0].time, lines[-1].time)
    else:
        return None
    return whole if whole.seconds > 0 else None


def standing_move(level: Level) -> WindowMove | None:
    """The latest move by hand, unless it was put back."""
    moves = WindowMove.objects.filter(
        attempt=level.attempt_id, index=level.index, concurrency=level.concurrency
    )
    latest = moves.order_by("pk").last()
    return latest if latest is not None and latest.start is not None else None


def _moved(level: Level, whole: Span, lines: Sequence[Line]) -> Steady | None:
    move = standing_move(level)
    if move is None or move.start is None or move.end is None:
        return None
    try:
        return by_hand(move.start, move.end, whole, lines)
    except Misplaced:  # the level was read again and lies elsewhere; the record stays
        return None


def _curve(level: Level) -> list[tuple[float, float]]:
    """The client's own count, on the node's clock: our driver runs beside the server."""
    told: list[Any] = level.summary.get("inflight") or []
    return [(moment, count) for moment, count in told]


def _factors(
    level: Level, window: Steady | None, lines: Sequence[Line], *, by_time: bool
) -> dict[str, Any] | None:
    if window is not None:
        within = inside(lines, window.span.start, window.span.end)
        # of a whole run the first line may begin before it
        lines = within or (lines if window.source == "whole run" else [])
    told = factors(
        lines,
        equal="seconds" if by_time else "passes",
        speculative=is_speculative(level.attempt.run.arm),
    )
    return asdict(told) if told else None


def _count_client(level: Level, window: Steady | None) -> None:
    """Tokens in the window over its length, where the client kept its single requests.

    Else the figure is the client's own, of the whole level; what an import prints is never touched.
    """
    if window is not None and window.source in ("client", "by hand"):
        tokens = tokens_inside(_answered(level), window.span) if _curve(level) else None
        if tokens:
            level.output_tps, level.window_tps = tokens / window.span.seconds, True
            return
    if level.window_tps:
        level.output_tps, level.window_tps = level.summary.get("output_tps"), False


def _answered(level: Level) -> list[Request]:
    """The requests of the level whose stream was whole."""
    return [
        request
        for request in requests_of(level)
        if request.error is None or request.error.get("kind") == "no-usage"
    ]


def told_lines(level: Level) -> QuerySet[Sample] | None:
    """The level's lines in the database: of an import by their numbers, else by their times.

    None where neither is known.
    """
    bounds = level.summary.get("log_lines")
    timed = level.started is not None and level.ended is not None
    if not bounds and not timed:
        return None
    told = Sample.objects.filter(
        stream__attempt=level.attempt_id,
        stream__role=LogStream.Role.SERVER,
        phase__in=TOLD,
        time__isnull=False,
    )
    if bounds:
        told = told.filter(line__gte=bounds[0], line__lt=bounds[1])
    if timed:
        told = told.filter(time__gte=level.started, time__lte=level.ended)
    return told


def stored_rows(level: Level) -> list[Row]:
    """The level's lines, of very many a part."""
    told = told_lines(level)
    if told is None:
        return []
    part = MOST_LINES / max(told.count(), 1)
    told = even_part(told, part) if part < 1 else told
    rows = told.order_by("stream", "seq").values_list(*_READ, named=True).iterator(5000)
    return [cast("Row", row) for row in rows]


def timed_rows(rows: Iterable[Row], start: float | None, end: float | None) -> list[Row]:
    """Those of a whole log that were printed while a level of ours was measured."""
    if start is None or end is None:
        return []
    return [r for r in rows if r.phase in TOLD and r.time is not None and start <= r.time <= end]


def rows_inside(level: Level, rows: Iterable[Any]) -> list[Any]:
    """The lines whose whole length lies in the level's window; of a whole run all of its lines."""
    window = level.window
    if window is None:
        return []
    passes = decode_passes(level.attempt.run.arm)
    trimmed = window.source != "whole run"
    found = [
        row
        for row in rows
        if row.phase in TOLD
        and row.time is not None
        and window.span.start <= row.time - (seconds_of(row, passes) if trimmed else 0.0)
        and row.time <= window.span.end
    ]
    return [row for row in found if row.phase == Sample.Phase.DECODE] or found


def looked(levels: Sequence[Level], *, logged: bool) -> list[Level]:
    """Levels of one attempt with their windows as today's formula finds them.

    What stands already is not read again; what is found is kept where the run has ended. The
    client's figures do not change by being looked at: that is for whoever judges the run.
    ``logged``: the attempt has a server's log.
    """
    old = [level.pk for level in levels if level.formula != FORMULA]
    if not old:
        return list(levels)
    found = Level.objects.select_related("attempt__run__arm__config").in_bulk(old)
    for level in found.values():
        look(level, stored_rows(level) if logged else [])
    if next(iter(found.values())).attempt.run.is_final:
        # one that was moved meanwhile keeps its move
        Level.objects.exclude(formula=FORMULA).bulk_update(found.values(), LOOKED)
    return [found.get(level.pk, level) for level in levels]


@transaction.atomic
def settle_import(attempt: Attempt) -> None:
    """The windows of an import's levels, from its stored lines; its printed figures stay."""
    for level in attempt.levels.select_related("attempt__run__arm__config"):
        if level.state == Level.State.DONE:
            rows = stored_rows(level)
            settle(level, rows)
            level.save(update_fields=WINDOW_FIELDS)
            if level.window is not None and level.window.source != "whole run":
                measure_import(level, rows)


def measure_import(level: Level, rows: Sequence[Row]) -> None:
    """What an import's log says inside the window; of a whole run with all clients in it."""
    within = lines = rows_inside(level, rows)
    if level.window is not None and level.window.source == "whole run":
        lines = list(busy(within, level.concurrency))
    level.running_mean = mean_of([line.running for line in lines])
    level.waiting_mean = mean_of([line.waiting for line in lines])
    if level.summary.get("accept_len_by_log"):
        level.accept_len = level_accept_len(within)
    level.save(update_fields=["running_mean", "waiting_mean", "accept_len"])
