"""Why one side is faster: the gain ledger of every level, from the lines of the servers' logs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean
from typing import Any

from runs.metrics.ledger import Bar, Ledger, Told, ledger
from runs.metrics.lines import TOLD, by_passes, by_seconds, is_by_time
from runs.metrics.passes import Line, factors, inside
from runs.metrics.steady import Span, Steady, steady
from runs.models import Level, LogStream, Sample
from runs.runlines import decode_passes, even_part, is_speculative
from runs.sides import Launch, Side
from runs.waterfall import Gauge, Waterfall, gauge, percent, values, waterfall

_READ = (
    "stream__attempt", "phase", "time", "line", "rank", "running", "output_tps", "accept_len",
)  # fmt: skip

# Of longer logs a part is read, chosen evenly: means of thousands of lines need no more.
MOST_LINES = 20_000
_NOTABLE = 0.01  # in logarithms: a bar that is worth a word


@dataclass(frozen=True)
class Gain:
    """The ledger of one level. ``whole`` says why a launch's whole level was read, if one was.

    ``before`` and ``after`` are geometric means of the client's tok/s over the launches that count.
    """

    concurrency: int
    ledger: Ledger
    whole: str
    before: float
    after: float
    steps: tuple[list[float], list[float]] = ([], [])  # passes per second of each launch

    @property
    def drawing(self) -> Waterfall:
        return waterfall(self.ledger, self.before, self.after)

    @property
    def gauge(self) -> Gauge | None:
        return gauge(self.ledger)

    @property
    def accept_len(self) -> float | None:
        return next((bar.after for bar in self.ledger.bars if bar.key == "accept_len"), None)

    @property
    def words(self) -> str:
        """ "Most of it is accept len (×2.94); step rate takes ×0.57 of that back"."""
        parts = sorted(self.ledger.bars, key=lambda bar: -abs(bar.d))
        first = parts[0]
        against = [bar for bar in parts[1:] if bar.d * first.d < 0 and abs(bar.d) > _NOTABLE]
        said = f"Mostly {first.label}: {percent(first.ratio)}"
        return (
            f"{said}; {against[0].label} {percent(against[0].ratio)} against it"
            if against
            else said
        )

    @property
    def rows(self) -> list[tuple[Bar, str, str, str]]:
        """The table that says the same: bar, values, change, 95 % interval."""
        return [(bar, values(bar), percent(bar.ratio), _interval(bar)) for bar in self.ledger.bars]

    @property
    def total(self) -> str:
        return percent(self.ledger.ratio)


def _interval(bar: Bar) -> str:
    if bar.low is None or bar.high is None:
        return ""
    return f"{percent(bar.low).removesuffix(' %')} to {percent(bar.high)}"


@dataclass(frozen=True)
class Why:
    """The ledgers of a pair: those that are drawn, and all of them for the table."""

    drawn: list[Gain]
    gains: list[Gain]
    missing: str  # of levels without a ledger: whose log is needed
    part: float  # of the log lines that was read


def why(base: Side, other: Side, levels: Sequence[int], capped: Sequence[int]) -> Why:
    """Draw the highest level below a running limit and the highest above it, else both ends."""
    found = gains(base, other, levels)
    known = [gain for gain in found if gain.ledger.bars]
    missing = next((gain.ledger.missing for gain in found if gain.ledger.missing), "")
    below = [gain for gain in known if gain.concurrency not in capped]
    above = [gain for gain in known if gain.concurrency in capped]
    drawn = [below[-1], above[-1]] if below and above else [*known[:1], *known[1:][-1:]]
    read = [launch for launch in [*base.counted, *other.counted] if _unsettled(launch)]
    return Why(drawn, known, missing, part_read(read))


@dataclass(frozen=True)
class _Row:
    """A line as it is stored."""

    phase: str
    time: float
    line: int
    rank: str
    running: int | None
    output_tps: float | None
    accept_len: float | None


def gains(base: Side, other: Side, levels: Sequence[int]) -> list[Gain]:
    """One ledger per level that both sides measured by client; without a log it says whose."""
    rows = _lines([launch for launch in [*base.counted, *other.counted] if _unsettled(launch)])
    found = []
    for concurrency in levels:
        windows: list[Steady] = []
        before, after = (_told(side, concurrency, rows, windows) for side in (base, other))
        if before and after:
            whole = next((w.why for w in windows if w.source == "whole run"), "")
            names = (base.name, other.name)
            split = ledger(before, after, names)
            told = _steps(before), _steps(after)
            found.append(Gain(concurrency, split, whole, _mean(before), _mean(after), told))
    return found


def _steps(launches: Sequence[Told]) -> list[float]:
    """Of the launches whose log tells it."""
    told = [each.factors.steps for each in launches if each.factors is not None]
    return [steps for steps in told if steps is not None]


def _mean(launches: Sequence[Told]) -> float:
    """Of those whose log counts; of all, where there is none."""
    counted = [each for each in launches if each.factors is not None] or launches
    return exp(fmean(log(each.client_tps) for each in counted))


def part_read(launches: Iterable[Launch]) -> float:
    """The share of the lines that is read: 1.0 unless the logs are long."""
    lines = sum(launch.log.samples for launch in launches)
    return min(1.0, MOST_LINES / lines) if lines else 1.0


def _lines(launches: Sequence[Launch]) -> dict[int, list[_Row]]:
    """The decode and interval lines of the newest attempts, by attempt, in the log's order."""
    attempts = [launch.attempt.pk for launch in launches if launch.attempt is not None]
    told = Sample.objects.filter(
        stream__attempt__in=attempts,
        stream__role=LogStream.Role.SERVER,
        phase__in=TOLD,
        time__isnull=False,
    )
    part = part_read(launches)
    if part < 1:
        told = even_part(told, part)
    found: dict[int, list[_Row]] = defaultdict(list)
    for attempt, *told_by_line in told.order_by("stream", "seq").values_list(*_READ).iterator(5000):
        found[attempt].append(_Row(*told_by_line))
    return found


def _told(
    side: Side, concurrency: int, rows: dict[int, list[_Row]], windows: list[Steady]
) -> list[Told]:
    """Every counted launch that measured the level; the windows that were read join the list."""
    found = []
    for launch in side.counted:
        for level in launch.measured:
            if level.concurrency == concurrency and level.output_tps and launch.attempt:
                lines = _of_level(level, rows.get(launch.attempt.pk, []))
                found.append(_launch(side, level, lines, windows))
    return found


def _of_level(level: Level, rows: Sequence[_Row]) -> list[_Row]:
    """An import knows a level's lines by their numbers, a run of ours by its times."""
    bounds = level.summary.get("log_lines")
    if bounds:
        rows = [row for row in rows if bounds[0] <= row.line < bounds[1]]
    if level.started is None or level.ended is None:
        return list(rows) if bounds else []
    return [row for row in rows if level.started <= row.time <= level.ended]


def _unsettled(launch: Launch) -> bool:
    """Whether a level's window is not stored: it still runs, or an earlier version measured it."""
    return any(level.output_tps and not level.window_source for level in launch.measured)


def _launch(side: Side, level: Level, rows: Sequence[_Row], windows: list[Steady]) -> Told:
    if level.window is not None:
        windows += [level.window] if level.told else []
        return Told(level.output_tps or 0.0, level.told)
    by_time = is_by_time(rows)
    lines = by_seconds(rows) if by_time else by_passes(rows, decode_passes(side.arm))
    if lines:
        found = steady(_whole(level, lines), lines, _curve(level), level.concurrency)
        windows.append(found)
        lines = inside(lines, found.span.start, found.span.end) or lines
    told = factors(
        lines, equal="seconds" if by_time else "passes", speculative=is_speculative(side.arm)
    )
    return Told(level.output_tps or 0.0, told)


def _whole(level: Level, lines: Sequence[Line]) -> Span:
    start = level.started if level.started is not None else lines[0].time - lines[0].seconds
    return Span(start, level.ended if level.ended is not None else lines[-1].time)


def _curve(level: Level) -> list[tuple[float, float]]:
    """The client's own count, on the node's clock: our driver runs beside the server."""
    told: list[Any] = level.summary.get("inflight") or []
    return [(moment, count) for moment, count in told]
