"""The one window of a level that client and log share: all clients in flight, on one clock.

Ramp and drain bend every mean, and the drain most: whole-run figures taken with different numbers
of requests cannot be compared. `window.py` tells which single lines are no speed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Literal, TypeAlias

from runs.metrics.passes import Line, inside

SHARE = 0.95  # of the clients
DIP_S = 0.5  # a request that ends is followed by the next one: so short a dip is no end
# A window that is smaller than this says too little.
LEAST_SECONDS, LEAST_LINES, LEAST_PART = 30.0, 20, 0.40
_HIGH = 0.90  # of the running counts: what the server reached and kept

# (moment, count from then on), ascending
Curve: TypeAlias = Sequence[tuple[float, float]]
Source: TypeAlias = Literal["client", "server only", "whole run", "by hand"]


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` to `end`, epoch seconds."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Clock:
    """The server's clock less the client's, in seconds, and how far that may be wrong.

    Measured at the start and the end of a run, the shortest round trip kept. A client on the
    server's own machine has the same clock.
    """

    offset: float = 0.0
    uncertainty: float = 0.0


SAME_CLOCK = Clock()


@dataclass(frozen=True, slots=True)
class Steady:
    """The window on the server's clock and where it comes from. `why` says what spoke against a
    better one; empty if nothing did."""

    span: Span
    source: Source
    why: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    """A window that somebody moved by hand: who, when, from where to where."""

    by: str
    at: datetime
    before: Steady
    after: Steady


def in_flight(requests: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """How many requests were in flight from each moment on, of their (sent, ended) times."""
    changes: dict[float, int] = {}
    for sent, ended in requests:
        changes[sent] = changes.get(sent, 0) + 1
        changes[ended] = changes.get(ended, 0) - 1
    curve, count = [], 0
    for moment in sorted(changes):
        count += changes[moment]
        curve.append((moment, float(count)))
    return curve


def plateau(curve: Curve) -> float:
    """The median count over time: the load of a client that keeps no fixed number in flight."""
    parts = sorted((count, end - begin) for (begin, count), (end, _) in pairwise(curve))
    half, passed = sum(seconds for _, seconds in parts) / 2, 0.0
    for count, seconds in parts:
        passed += seconds
        if passed >= half:
            return count
    return 0.0


def longest(curve: Curve, least: float, dip: float = DIP_S) -> Span | None:
    """The longest time with at least `least` in flight, dips shorter than `dip` seconds bridged."""
    spans: list[Span] = []
    for (begin, count), (end, _) in pairwise(curve):
        if count < least:
            continue
        if spans and begin - spans[-1].end < dip:
            spans[-1] = Span(spans[-1].start, end)
        else:
            spans.append(Span(begin, end))
    found = max(spans, key=lambda span: span.seconds, default=None)
    return found if found is not None and found.seconds > 0 else None


def on_server(span: Span, clock: Clock, line_seconds: float) -> Span | None:
    """The span on the server's clock, both ends trimmed by what is not sure of them.

    A log line tells of the time before it, so one line's length goes as well. None if nothing is
    left.
    """
    trim = clock.uncertainty + line_seconds
    found = Span(span.start + clock.offset + trim, span.end + clock.offset - trim)
    return found if found.seconds > 0 else None


def steady(
    whole: Span,
    lines: Sequence[Line],
    curve: Curve = (),
    concurrency: float | None = None,
    clock: Clock = SAME_CLOCK,
) -> Steady:
    """The window of a level. `whole` is all of it and `lines` its decode lines, both on the
    server's clock; `curve` is the client's in-flight count on its own, without which the running
    count of the lines is asked. `concurrency` is None for a client that keeps no fixed number.
    """
    source: Source
    target = plateau(curve) if concurrency is None and curve else concurrency
    if curve and target:
        span, source = longest(curve, SHARE * target), "client"
        span = on_server(span, clock, _line_seconds(lines)) if span else None
    else:
        span, source = _of_lines(lines), "server only"
    if span is None:
        return Steady(whole, "whole run", f"never {SHARE:.0%} of the clients in flight")
    why = _too_small(span, whole, lines)
    return Steady(whole, "whole run", why) if why else Steady(span, source)


def _line_seconds(lines: Sequence[Line]) -> float:
    """How long a line usually is."""
    lengths = sorted(line.seconds for line in lines if line.seconds)
    return lengths[len(lengths) // 2] if lengths else 0.0


def _of_lines(lines: Sequence[Line]) -> Span | None:
    """The longest stretch of lines with nearly as many running as the server ever kept.

    A line tells the count of its last pass, where one request may have left and the next not come
    yet: so low a line by itself is no dip.
    """
    counts = sorted(line.running for line in lines)
    if not counts:
        return None
    high = counts[min(len(counts) - 1, int(_HIGH * len(counts)))]
    curve = [(line.time - line.seconds, line.running) for line in lines]
    single = max(DIP_S, 1.5 * _line_seconds(lines))
    return longest([*curve, (lines[-1].time, 0.0)], SHARE * high, single)


def _too_small(span: Span, whole: Span, lines: Sequence[Line]) -> str:
    count = len(inside(lines, span.start, span.end))
    if span.seconds < LEAST_SECONDS:
        return f"only {span.seconds:.0f} s with all clients in flight"
    if count < LEAST_LINES:
        return f"only {count} log lines with all clients in flight"
    if span.seconds < LEAST_PART * whole.seconds:
        return f"all clients were in flight for {span.seconds / whole.seconds:.0%} of the level"
    return ""


def moved(current: Steady, start: float, end: float, *, whole: Span, by: str, at: datetime) -> Move:
    """Move a window by hand. Raises ValueError if it would be empty or leave the level."""
    if not whole.start <= start < end <= whole.end:
        raise ValueError(
            f"a window lies inside its level, {whole.start:.1f} to {whole.end:.1f} s, and is not "
            f"empty; {start:.1f} to {end:.1f} s is not"
        )
    return Move(by, at, current, replace(current, span=Span(start, end), source="by hand", why=""))
