"""Why one side is faster: the gain ledger of every level, from what the servers' logs say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from runs.metrics.ledger import Bar, Ledger, Told, ledger
from runs.models import Level
from runs.sides import Side
from runs.waterfall import Gauge, Waterfall, gauge, percent, values, waterfall

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


def why(base: Side, other: Side, levels: Sequence[int], capped: Sequence[int]) -> Why:
    """Draw the highest level below a running limit and the highest above it, else both ends."""
    found = gains(base, other, levels)
    known = [gain for gain in found if gain.ledger.bars]
    missing = next((gain.ledger.missing for gain in found if gain.ledger.missing), "")
    below = [gain for gain in known if gain.concurrency not in capped]
    above = [gain for gain in known if gain.concurrency in capped]
    drawn = [below[-1], above[-1]] if below and above else [*known[:1], *known[1:][-1:]]
    return Why(drawn, known, missing)


def gains(base: Side, other: Side, levels: Sequence[int]) -> list[Gain]:
    """One ledger per level that both sides measured by client; without a log it says whose."""
    return [found for level in levels if (found := _gain(base, other, level)) is not None]


def _gain(base: Side, other: Side, concurrency: int) -> Gain | None:
    before, after = _at(base, concurrency), _at(other, concurrency)
    if not before or not after:
        return None
    windows = [level.window for level in (*before, *after) if level.told]
    whole = next((w.why for w in windows if w and w.source == "whole run"), "")
    left, right = (
        [Told(level.output_tps or 0.0, level.told) for level in arm] for arm in (before, after)
    )
    split = ledger(left, right, (base.name, other.name))
    steps = _steps(left), _steps(right)
    return Gain(concurrency, split, whole, _mean(left), _mean(right), steps)


def _at(side: Side, concurrency: int) -> list[Level]:
    """The level of every counted launch that measured it by client."""
    return [
        level
        for launch in side.counted
        for level in launch.looked
        if level.concurrency == concurrency and level.output_tps
    ]


def _steps(launches: Sequence[Told]) -> list[float]:
    """Of the launches whose log tells it."""
    told = [each.factors.steps for each in launches if each.factors is not None]
    return [steps for steps in told if steps is not None]


def _mean(launches: Sequence[Told]) -> float:
    """Of those whose log counts; of all, where there is none."""
    counted = [each for each in launches if each.factors is not None] or launches
    return geometric_mean([each.client_tps for each in counted])
