"""How many launches a wish needs, and how often one may look without fooling oneself."""

import math
from collections.abc import Sequence

from runs.metrics.noise import Noise
from runs.metrics.special import t_quantile

ALPHA = 0.05
POWER = 0.80
# More launches than this and it is the method that wants work.
MOST_REPEATS = 20
_TRIED = 400

# Pocock: what one of so many looks may use up of 5 % false alarms.
_LOOKS = {1: ALPHA, 2: 0.0294, 3: 0.0221}
MOST_LOOKS = max(_LOOKS)


def alpha_of(looks: int) -> float:
    """The share of false alarms that each look may have, for a plan of so many looks.

    Raises ValueError for a plan with more than three. Who looks oftener, or goes on after the
    last look, begins a new comparison.
    """
    if looks not in _LOOKS:
        raise ValueError(f"a plan has one to {MOST_LOOKS} looks, not {looks}")
    return _LOOKS[looks]


def repeats_needed(effect: float, sd: float, prior_df: float, *, paired: bool = False) -> int:
    """Launches per arm that find an `effect` (0.03, a logarithm: about 3 %) in four of five cases.

    `sd` is one launch's noise, known with `prior_df` degrees of freedom beside the launches' own;
    paired, `sd` is that of one difference and blocks are counted. At least 2; a large number
    stands for "far too many".
    """
    wished = abs(effect)
    if wished == 0:
        return _TRIED
    for n in range(2, _TRIED):
        df = prior_df + (n - 1 if paired else 2 * (n - 1))
        reach = (t_quantile(1 - ALPHA / 2, df) + t_quantile(POWER, df)) * sd / wished
        if n >= (1 if paired else 2) * reach**2:
            return n
    return _TRIED


def resolution(noise: Noise, launches: int, *, paired: bool = False) -> float:
    """The smallest relative change that so many launches per arm tell from none: 0.029.

    It is half the width of the interval they will have if their spread is the known noise.
    """
    df = noise.df + (launches - 1 if paired else 2 * (launches - 1))
    return math.expm1(t_quantile(1 - ALPHA / 2, df) * noise.sd * math.sqrt(2 / launches))


def holm(ps: Sequence[float]) -> list[float]:
    """Adjust the p values of several tests so that one false alarm among them all stays rare."""
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    adjusted, highest = [0.0] * len(ps), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[i]))
        adjusted[i] = highest
    return adjusted


def benjamini_hochberg(ps: Sequence[float]) -> list[float]:
    """Adjust p values so that a given share of what is found is false: weaker than `holm`."""
    order = sorted(range(len(ps)), key=lambda i: ps[i], reverse=True)
    adjusted, lowest = [0.0] * len(ps), 1.0
    for passed, i in enumerate(order):
        lowest = min(lowest, ps[i] * len(ps) / (len(ps) - passed))
        adjusted[i] = lowest
    return adjusted
