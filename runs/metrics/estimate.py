"""How much two arms differ in one figure, and how far that is known. Launches are the units.

Everything is worked out on natural logarithms: ratios then have even intervals, and means are
geometric.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median

from runs.metrics.noise import LEAST_SD, Noise
from runs.metrics.special import t_quantile, t_two_sided

# Splits that are gone through one by one; beyond, the t test needs no check.
_MOST_SPLITS = 20_000
_ROBUST = 1.4826  # a normal distribution's sd over its median distance from the median
_OFF_ROBUST, _OFF_NOISE = 4.0, 6.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """The difference of two means of logarithms, `d`, after less before.

    `se` is its standard error, `df` the degrees of freedom of both together (the launches' and
    those that the host's past adds), `sd` the noise of one launch (paired: of one difference).
    """

    d: float
    se: float
    df: float
    sd: float

    @property
    def ratio(self) -> float:
        return math.exp(self.d)

    @property
    def p(self) -> float:
        """Two-sided: how often arms that are alike would differ at least so much."""
        return t_two_sided(self.d / self.se, self.df)

    def interval(self, alpha: float = 0.05) -> tuple[float, float]:
        """The ratio's interval that misses the truth in `alpha` of all cases."""
        half = self.half_width(alpha)
        return math.exp(self.d - half), math.exp(self.d + half)

    def half_width(self, alpha: float = 0.05) -> float:
        """Half the interval's width in logarithms: about a share."""
        return t_quantile(1 - alpha / 2, self.df) * self.se

    @property
    def factor(self) -> float:
        """The difference in half-widths: from 1 on the plain interval excludes "no difference"."""
        return abs(self.d) / self.half_width()


def estimate(
    before: Sequence[float], after: Sequence[float], noise: Noise | None, *, paired: bool = False
) -> Estimate | None:
    """Compare the figures (above zero) of launches. None where nothing tells their noise.

    `noise` is that of single launches. `paired`: the n-th of both stood in one block, and their
    differences are judged; raises ValueError when there are not as many of one as of the other.
    """
    x, y = _logs(before), _logs(after)
    if paired:
        if len(x) != len(y):
            raise ValueError("blocks need one launch of each arm")
        differences = [b - a for a, b in zip(x, y, strict=True)]
        own, df, share = _squares(differences), len(x) - 1, 1 / len(x)
        noise = noise.of_differences() if noise else None
    else:
        own, df = _squares(x) + _squares(y), len(x) + len(y) - 2
        share = 1 / len(x) + 1 / len(y)
    weight, prior = (noise.df, noise.sd) if noise else (0.0, 0.0)
    if df + weight == 0:
        return None
    sd = max(math.sqrt((weight * prior**2 + own) / (weight + df)), LEAST_SD)
    return Estimate(d=fmean(y) - fmean(x), se=sd * math.sqrt(share), df=weight + df, sd=sd)


def mean_interval(
    values: Sequence[float], noise: Noise | None, alpha: float = 0.05
) -> tuple[float, float] | None:
    """One arm's geometric mean with its interval, for a whisker; None for a single launch.

    Of two arms whose whiskers overlap one may still be better: what is judged is their ratio.
    """
    if len(values) < 2:
        return None
    logs = _logs(values)
    weight, prior = (noise.df, noise.sd) if noise else (0.0, 0.0)
    df = len(logs) - 1 + weight
    sd = max(math.sqrt((weight * prior**2 + _squares(logs)) / df), LEAST_SD)
    half = t_quantile(1 - alpha / 2, df) * sd / math.sqrt(len(logs))
    return math.exp(fmean(logs) - half), math.exp(fmean(logs) + half)


def _logs(values: Sequence[float]) -> list[float]:
    if not values or not all(value > 0 and math.isfinite(value) for value in values):
        raise ValueError("an arm needs figures, all above zero")
    return [math.log(value) for value in values]


def _squares(values: Sequence[float]) -> float:
    middle = fmean(values)
    return sum((value - middle) ** 2 for value in values)


def permutation_p(before: Sequence[float], after: Sequence[float]) -> float | None:
    """The exact chance of so large a difference of means, had the labels been dealt at random.

    None for more splits than can be gone through. It knows of no normal distribution, and can
    never be small for few launches: 0.1 is the least for three against three.
    """
    values = [*_logs(before), *_logs(after)]
    n, total = len(before), math.fsum([*_logs(before), *_logs(after)])
    if math.comb(len(values), n) > _MOST_SPLITS:
        return None
    told = _apart(math.fsum(values[:n]), total, n, len(after))
    splits = [_apart(math.fsum(chosen), total, n, len(after)) for chosen in combinations(values, n)]
    return sum(split >= told - 1e-12 for split in splits) / len(splits)


def _apart(chosen: float, total: float, n: int, others: int) -> float:
    return abs((total - chosen) / others - chosen / n)


def far_off(values: Sequence[float], noise: Noise) -> list[int]:
    """Give the places of launches that lie far off their arm: to be shown, never dropped.

    From four on by their own robust spread (never less than half the known noise), with three by
    the known noise.
    """
    if len(values) < 3:
        return []
    logs = _logs(values)
    if len(logs) == 3:
        limit = _OFF_NOISE * noise.sd
        return [i for i, rest in _others(logs) if abs(logs[i] - fmean(rest)) > limit][:1]
    middle = median(logs)
    spread = _ROBUST * median(abs(each - middle) for each in logs)
    limit = _OFF_ROBUST * max(spread, noise.sd / 2)
    return [i for i, each in enumerate(logs) if abs(each - middle) > limit]


def _others(logs: Sequence[float]) -> Iterator[tuple[int, list[float]]]:
    """Each launch with the others, the furthest from them first."""
    pairs = [(i, [*logs[:i], *logs[i + 1 :]]) for i in range(len(logs))]
    yield from sorted(pairs, key=lambda pair: -abs(logs[pair[0]] - fmean(pair[1])))
