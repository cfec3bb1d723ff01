"""By how much launches of one and the same thing differ: from a host's past, or assumed.

Every value is the standard deviation of the natural logarithm of one launch's figure, which for
small ones is a share: 0.015 is 1.5 %.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from runs.metrics.special import chi2_quantile

# Fewer degrees of freedom in the past tell no noise.
LEAST_HISTORY = 4
# History is a hint at today's noise, so it never weighs more than so many degrees of freedom.
MOST_WEIGHT = 8.0
ASSUMED_WEIGHT = 4.0
# Of a past sd the cautious end: the true one lies below in four of five cases.
_CAUTION = 0.20
# No host repeats itself more exactly than this.
LEAST_SD = 0.001

_P99 = 0.08
_ASSUMED = {"output_tps": 0.015, "user_tps": 0.015, "accept_len": 0.01}
_ASSUMED_BY_KIND = {"ttft": 0.05, "itl": 0.02, "tpot": 0.02, "e2e": 0.02}
_ASSUMED_ELSE = 0.015


@dataclass(frozen=True, slots=True)
class Noise:
    """What is known of a launch's noise before the launches that are compared.

    `df` is its weight beside theirs. `history` counts the degrees of freedom it was taken from, 0
    where nobody said; `assumed` is True where it is a rule of thumb.
    """

    sd: float
    df: float
    assumed: bool = False
    history: int = 0

    def of_differences(self) -> "Noise":
        """The noise of one launch's difference from another of the same block."""
        return replace(self, sd=self.sd * math.sqrt(2))


def assumed_noise(metric: str) -> Noise:
    """A rule of thumb, where there is no past to learn from."""
    kind, _, part = metric.partition("_")
    sd = _ASSUMED.get(metric) or _ASSUMED_BY_KIND.get(kind, _ASSUMED_ELSE)
    return Noise(_P99 if part in ("p90", "p99") else sd, ASSUMED_WEIGHT, assumed=True)


@dataclass(frozen=True, slots=True)
class Spread:
    """How far repeats lie apart: squares of logarithms around their mean, by so many freedoms."""

    df: int
    squares: float


def spread_of(repeats: Sequence[float]) -> Spread:
    """Of the figures (above zero) of launches that were alike."""
    logs = [math.log(value) for value in repeats if value > 0]
    if len(logs) < 2:
        return Spread(0, 0.0)
    middle = math.fsum(logs) / len(logs)
    return Spread(len(logs) - 1, sum((each - middle) ** 2 for each in logs))


def pooled(spreads: Iterable[Spread]) -> Noise | None:
    """The noise that all of them tell together; None below four degrees of freedom."""
    df, squares = 0, 0.0
    for each in spreads:
        df += each.df
        squares += each.squares
    if df < LEAST_HISTORY:
        return None
    cautious = math.sqrt(squares / chi2_quantile(_CAUTION, df))
    return Noise(max(cautious, LEAST_SD), min(df, MOST_WEIGHT), history=df)


def noise_of(rungs: Iterable[Iterable[Spread]], metric: str) -> Noise:
    """Give the noise of the first rung with enough repeats: the nearest first, then wider ones."""
    for spreads in rungs:
        found = pooled(spreads)
        if found is not None:
            return found
    return assumed_noise(metric)
