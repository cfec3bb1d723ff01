"""Move a level's window by hand, and put it back. Every move stays to be read."""

from __future__ import annotations

from typing import NoReturn

from django.db import transaction

from people.models import Person
from runs.actions.conclude import judge_attempt
from runs.actions.launch import Refused
from runs.actions.levelwindow import (
    WINDOW_FIELDS,
    lines_of,
    measure_import,
    settle,
    stored_rows,
    whole_of,
)
from runs.metrics.steady import Misplaced, Span, Steady, by_hand
from runs.models import Level, WindowMove

MOST = 500
# A form tells tenths of a second: so much beyond the level's end is its end.
ROUNDED_S = 0.1


@transaction.atomic
def move_window(
    *, level: Level, start: float, end: float, by: Person | None, reason: str
) -> WindowMove | None:
    """Make [start, end] (epoch seconds, the server's clock) the level's window.

    Its figures are those inside it from now on. None if that is what it is already. Raises
    :class:`Refused` with the field ("start", "end", "reason") that has to change.
    """
    level, window = _movable(level)
    reason = _said(reason)
    if not reason:
        raise Refused("Say why it is moved: the reason stays beside the window.", "reason")
    lines = lines_of(level, stored_rows(level))
    whole = whole_of(level, lines)
    if whole is None:
        raise Refused("Nothing tells when this level was measured.", "start")
    start, end = _at_an_end(start, whole), _at_an_end(end, whole)
    try:
        moved = by_hand(start, end, whole, lines)
    except Misplaced as misplaced:
        raise Refused(str(misplaced), misplaced.field) from None
    if level.edited and moved.span == window.span:
        return None
    return _keep(level, window, moved.span, by, reason)


@transaction.atomic
def reset_window(*, level: Level, by: Person | None, reason: str = "") -> WindowMove | None:
    """Back to the window that was found. None if it was never moved. Raises :class:`Refused`."""
    level, window = _movable(level)
    return _keep(level, window, None, by, _said(reason)) if level.edited else None


def _movable(level: Level) -> tuple[Level, Steady]:
    """The level, held until the end of the transaction, and its window."""
    held = Level.objects.select_for_update(of=("self",)).select_related(
        "attempt__run__arm__config", "attempt__run__arm__workload"
    )
    level = held.filter(pk=level.pk).first() or _gone()
    if not level.attempt.run.is_final:
        raise Refused("The run goes on. Its windows can be moved when it has ended.")
    if level.window is None:
        raise Refused(
            "This level has no window: the run was not judged, or nothing tells its time."
        )
    return level, level.window


def _gone() -> NoReturn:
    raise Refused("The run was read again a moment ago: look at the level anew.")


def _said(reason: str) -> str:
    reason = " ".join(reason.split())
    if len(reason) > MOST:
        raise Refused(
            f"The reason is longer than {MOST} characters: a note can hold more.", "reason"
        )
    return reason


def _at_an_end(moment: float, whole: Span) -> float:
    for edge in (whole.start, whole.end):
        if abs(moment - edge) <= ROUNDED_S:
            return edge
    return moment


def _keep(
    level: Level, window: Steady, to: Span | None, by: Person | None, reason: str
) -> WindowMove:
    """Write the move down; the level's figures and the run's caveats follow."""
    move = WindowMove.objects.create(
        attempt=level.attempt,
        index=level.index,
        concurrency=level.concurrency,
        start=to.start if to else None,
        end=to.end if to else None,
        before_start=window.span.start,
        before_end=window.span.end,
        before_source=window.source,
        reason=reason,
        by=by,
    )
    if level.attempt.run.imported:
        rows = stored_rows(level)
        settle(level, rows)
        level.save(update_fields=WINDOW_FIELDS)
        measure_import(level, rows)
    else:
        judge_attempt(attempt=level.attempt)
    return move
