"""The windows of a run's levels as its page shows them: in seconds since their level began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Max, Min

from runs.actions.levelwindow import told_lines
from runs.metrics.shown import MINUS
from runs.metrics.steady import Span, Steady
from runs.models import Attempt, Level, Run, WindowMove

FOUND = {
    "client": "all clients in flight",
    "server only": "by the server's log alone",
    "whole run": "the whole level",
    "by hand": "moved by hand",
}


@dataclass(frozen=True)
class MoveRow:
    """One move; times are seconds since the level began. ``to`` is None where it was put back."""

    move: WindowMove
    before: tuple[float, float]
    to: tuple[float, float] | None

    @property
    def before_words(self) -> str:
        return FOUND[self.move.before_source]


@dataclass(frozen=True)
class WindowRow:
    """A level's window. ``start`` and ``end`` are seconds since the level began."""

    level: Level
    window: Steady
    whole: Span
    moves: list[MoveRow]

    @property
    def start(self) -> float:
        return self.window.span.start - self.whole.start

    @property
    def end(self) -> float:
        return self.window.span.end - self.whole.start

    @property
    def words(self) -> str:
        """ "all clients in flight", "the whole level: only 12 s with all clients in flight"."""
        found = FOUND[self.window.source]
        return f"{found}: {self.window.why}" if self.window.why else found


def window_rows(attempt: Attempt | None, levels: Sequence[Level]) -> list[WindowRow]:
    """Of the levels that have a window and tell when they were measured."""
    if attempt is None or not any(level.window_source for level in levels):
        return []
    moves = list(WindowMove.objects.filter(attempt=attempt).select_related("by"))
    rows = []
    for level in levels:
        window = level.window
        whole = level_span(level) if window else None
        if window is not None and whole is not None:
            own = [m for m in moves if (m.index, m.concurrency) == (level.index, level.concurrency)]
            rows.append(WindowRow(level, window, whole, [_move(m, whole) for m in own]))
    return rows


def _move(move: WindowMove, whole: Span) -> MoveRow:
    before = (move.before_start - whole.start, move.before_end - whole.start)
    if move.start is None or move.end is None:
        return MoveRow(move, before, None)
    return MoveRow(move, before, (move.start - whole.start, move.end - whole.start))


def level_span(level: Level) -> Span | None:
    """When a level was measured: by the client, else by the lines of an import."""
    if level.started is not None and level.ended is not None:
        return Span(level.started, level.ended)
    told = told_lines(level)
    if told is None:
        return None
    found = told.filter(output_tps__gt=0, running__gt=0).aggregate(a=Min("time"), b=Max("time"))
    return Span(found["a"], found["b"]) if found["a"] is not None else None


def clock_words(run: Run, attempt: Attempt | None) -> str:
    """How sure it is that client and log mean the same second, and how far that is from ours."""
    if run.imported:
        return "Clocks of client and log not compared: the log's own times are shown."
    one = "Client and log share one clock: the load is made on the server's node."
    clocks = attempt.facts.get("clocks", {}) if attempt else {}
    told = [f"{_off(clocks[when])} at the {when}" for when in ("start", "end") if when in clocks]
    return f"{one} Against ours it was {', '.join(told)}." if told else one


def _off(clock: dict[str, float]) -> str:
    """ "+0.012 ± 0.020 s": the node's clock less ours, and half of the quickest round trip."""
    sign = MINUS if clock["offset_s"] < 0 else "+"
    return f"{sign}{abs(clock['offset_s']):.3f} ± {clock['uncertainty_s']:.3f} s"
