"""What another number of draft steps would give, from arms that differ in nothing else.

Two things are fitted at one level. Each draft step further accepts a share less than the one
before: accept len = 1 + g (1 + r + r² + …), one term a step. And each costs as much time as the one
before: seconds per token and request × accept len = verification + steps × draft. An arm without
speculation neither drafts nor verifies, so it says nothing of either and is left out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum

from runs.metrics.noise import assumed_noise
from runs.metrics.special import t_quantile

CONFIDENCE = 0.80
LEAST_ARMS = 2  # numbers of steps, each above zero
MOST_STEPS = 16
_PARAMETERS = 2
_RATIOS = (0.0, 1.0)  # of one step's gain to that of the step before
_NARROWINGS = 80
_GOLDEN = (math.sqrt(5) - 1) / 2
_STEP = 1e-4  # relative, of a numeric derivative
# No server accepts exactly by the formula: what it is off by, per step away from any measured one.
_SHAPE = 0.005


@dataclass(frozen=True, slots=True)
class StepsArm:
    """An arm at one level: draft steps, accept len, output tokens per second of all clients."""

    steps: int
    accept_len: float
    output_tps: float


@dataclass(frozen=True, slots=True)
class Range:
    """A predicted value with the ends of its 80 % interval."""

    value: float
    low: float
    high: float

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a launch with so many draft steps would measure, by arms with `measured` steps."""

    steps: int
    accept_len: Range
    output_tps: Range
    measured: tuple[int, ...]


def predict(arms: Sequence[StepsArm], steps: int) -> Prediction | None:
    """Predict one launch with `steps` draft steps. Several arms may have the same number.

    None unless at least two different numbers above zero were measured. Raises ValueError for
    steps outside 1 to 16 and for figures that cannot be (accept len below 1, no tokens).
    """
    return _predict(tuple(arms), steps)


@lru_cache(maxsize=1024)  # a page asks again for what it showed, and a fit takes milliseconds
def _predict(arms: tuple[StepsArm, ...], steps: int) -> Prediction | None:
    if not 1 <= steps <= MOST_STEPS:
        raise ValueError(f"steps between 1 and {MOST_STEPS} can be predicted, not {steps}")
    told = [arm for arm in arms if arm.steps > 0]
    if any(arm.accept_len < 1 or arm.output_tps <= 0 for arm in told):
        raise ValueError("an arm needs an accept len of at least 1 and a speed above zero")
    known = sorted({arm.steps for arm in told})
    if len(known) < LEAST_ARMS:
        return None
    counts = [arm.steps for arm in told]
    lengths = _Fit(counts, [arm.accept_len for arm in told], _gains, "accept_len")
    costs = _Fit(counts, [arm.accept_len / arm.output_tps for arm in told], _line, "output_tps")
    length, cost = lengths.at(steps), costs.at(steps)
    off = _SHAPE * min(abs(steps - count) for count in known)
    shape = off**2
    return Prediction(
        steps,
        _range(length, lengths.noise + lengths.variance(steps) + shape, lengths.df),
        # the launch's own accept len stands in its cost as well, so its noise counts once
        _range(
            length / cost,
            costs.noise + lengths.variance(steps) + costs.variance(steps) + 2 * shape,
            costs.df,
        ),
        tuple(known),
    )


def _range(value: float, variance: float, df: float) -> Range:
    half = t_quantile((1 + CONFIDENCE) / 2, df) * math.sqrt(variance)
    return Range(value, value * math.exp(-half), value * math.exp(half))


# what a curve of two parameters gives at a number of steps
_Curve = Callable[[float, float, int], float]


def _gain_sum(r: float, steps: int) -> float:
    return fsum(r**n for n in range(steps))


class _Fit:
    """Two parameters fitted to relative errors, and how sure a value of the curve is."""

    def __init__(
        self,
        counts: Sequence[int],
        values: Sequence[float],
        fit: "Callable[[Sequence[int], Sequence[float]], tuple[float, float, _Curve]]",
        metric: str,
    ) -> None:
        self.counts = counts
        self.a, self.b, self.curve = fit(counts, values)
        noise = assumed_noise(metric)
        own = fsum(
            (math.log(value) - math.log(self.at(count))) ** 2
            for count, value in zip(counts, values, strict=True)
        )
        left = max(0, len(counts) - _PARAMETERS)
        self.df = noise.df + left
        self.noise = (noise.df * noise.sd**2 + own) / self.df  # a variance of logarithms

    def at(self, steps: int) -> float:
        return self.curve(self.a, self.b, steps)

    def variance(self, steps: int) -> float:
        """How far the curve's logarithm may be off there, squared."""
        rows = [self._slopes(count) for count in self.counts]
        aa, ab, bb = (fsum(x[i] * x[j] for x in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
        u, v = self._slopes(steps)
        apart = aa * bb - ab * ab
        spread = (u * u * bb - 2 * u * v * ab + v * v * aa) / apart if apart > 0 else math.inf
        return self.noise * spread

    def _slopes(self, steps: int) -> tuple[float, float]:
        """How the logarithm of the curve moves with each parameter."""
        here = math.log(self.at(steps))
        da, db = (_STEP * max(abs(each), _STEP) for each in (self.a, self.b))
        return (
            (math.log(self.curve(self.a + da, self.b, steps)) - here) / da,
            (math.log(self.curve(self.a, self.b + db, steps)) - here) / db,
        )


def _gains(counts: Sequence[int], values: Sequence[float]) -> tuple[float, float, _Curve]:
    """g and r of the accept len: r by golden section, g as the best for it."""
    different = set(counts)

    def best(r: float) -> tuple[float, float]:
        of = {count: _gain_sum(r, count) for count in different}
        sums = [of[count] for count in counts]
        weights = [1 / value**2 for value in values]
        pairs = list(zip(sums, values, weights, strict=True))
        g = fsum(w * s * (v - 1) for s, v, w in pairs) / fsum(w * s * s for s, _, w in pairs)
        return g, fsum(w * (1 + g * s - v) ** 2 for s, v, w in pairs)

    low, high = _RATIOS
    for _ in range(_NARROWINGS):
        width = _GOLDEN * (high - low)
        if best(high - width)[1] <= best(low + width)[1]:
            high = low + width
        else:
            low = high - width
    r = (low + high) / 2
    return best(r)[0], r, lambda g, r, steps: 1 + g * _gain_sum(r, steps)


def _line(counts: Sequence[int], values: Sequence[float]) -> tuple[float, float, _Curve]:
    """Verification and draft time, by least squares of relative errors; no draft is free."""
    weights = [1 / value**2 for value in values]
    total = fsum(weights)
    x = fsum(w * count for w, count in zip(weights, counts, strict=True)) / total
    y = fsum(w * value for w, value in zip(weights, values, strict=True)) / total
    triples = list(zip(weights, counts, values, strict=True))
    across = fsum(w * (count - x) * (value - y) for w, count, value in triples)
    slope = max(0.0, across / fsum(w * (count - x) ** 2 for w, count, _ in triples))
    return y - slope * x, slope, lambda base, each, steps: max(base + each * steps, base * _STEP)
