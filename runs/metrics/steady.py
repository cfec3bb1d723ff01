"""The one window of a level that client and log share: all clients in flight, on one clock.

Ramp and drain bend every mean, and the drain most: whole-run figures taken with different numbers
of requests cannot be compared. `window.py` tells which single lines are no speed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol, TypeAlias

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


class Misplaced(ValueError):
    """A window that cannot be; `field` is "start" or "end"."""

    def __init__(self, field: str, words: str) -> None:
        super().__init__(words)
        self.field = field


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
    if not curve and not lines:
        return Steady(whole, "whole run", "neither the client nor the log tells of a shorter one")
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


def by_hand(start: float, end: float, whole: Span, lines: Sequence[Line]) -> Steady:
    """A window that somebody chose; `why` says where it is smaller than one that is found.

    Raises Misplaced if it leaves the level or ends before it begins.
    """
    for field, moment in (("start", start), ("end", end)):
        if not whole.start <= moment <= whole.end:
            raise Misplaced(
                field,
                f"The level lasts from 0 to {whole.seconds:.1f} s; "
                f"{moment - whole.start:.1f} s is outside it.",
            )
    if end <= start:
        raise Misplaced("end", "The window ends before it begins.")
    count = len(inside(lines, start, end))
    told = []
    if end - start < LEAST_SECONDS:
        told.append(f"{end - start:.0f} s, less than {LEAST_SECONDS:.0f} s")
    if count < LEAST_LINES:
        told.append(f"{count} log lines, fewer than {LEAST_LINES}")
    return Steady(Span(start, end), "by hand", "; ".join(told))


class Answered(Protocol):
    """A request whose stream was whole: its first and last text, its output tokens."""

    @property
    def first(self) -> float | None: ...
    @property
    def last(self) -> float | None: ...
    @property
    def output_tokens(self) -> int | None: ...


def tokens_inside(requests: Iterable[Answered], span: Span) -> float | None:
    """Output tokens in a span, each request's taken as even from its first to its last text.

    None if one of the requests does not tell its tokens.
    """
    total = 0.0
    for request in requests:
        if request.output_tokens is None:
            return None
        if request.first is None or request.last is None:
            continue
        seconds = request.last - request.first
        if seconds <= 0:
            total += request.output_tokens if span.start <= request.first <= span.end else 0
            continue
        overlap = min(span.end, request.last) - max(span.start, request.first)
        total += request.output_tokens * max(0.0, overlap) / seconds
    return total
