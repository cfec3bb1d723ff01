"""Student's t and chi-square, as far as a comparison needs them.

Written here and not taken from scipy: three short functions against a hundred megabytes on every
machine that runs the product. tests/runs/metrics/test_special.py holds them to closed forms and to
published tables.
"""

import math
from collections.abc import Callable
from functools import lru_cache

_TINY = 1e-300
_EXACT = 1e-15
_TERMS = 500
_HALVINGS = 200


def t_two_sided(t: float, df: float) -> float:
    """The chance of a |t| at least so large, with `df` > 0 degrees of freedom."""
    return beta_share(df / 2, 0.5, df / (df + t * t))


@lru_cache(maxsize=4096)
def t_quantile(share: float, df: float) -> float:
    """The t below which `share` of the distribution lies; 0 < share < 1, df > 0."""
    if share == 0.5:
        return 0.0
    if share < 0.5:
        return -t_quantile(1 - share, df)
    tail = 2 * (1 - share)
    return _root(lambda t: tail - t_two_sided(t, df))


@lru_cache(maxsize=512)
def chi2_quantile(share: float, df: float) -> float:
    """The chi-square below which `share` of the distribution lies; 0 < share < 1, df > 0."""
    return _root(lambda x: gamma_share(df / 2, x / 2) - share)


def beta_share(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), for a and b above zero, x in [0, 1]."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # there the fraction converges slowly
        return 1 - beta_share(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return front / a * _beta_fraction(a, b, x)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Lentz's way through the continued fraction."""
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, _TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _apart(1 + term * d)
            c = _apart(1 + term / c)
            found *= c * d
        if abs(c * d - 1) < _EXACT:
            break
    return found


def _apart(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def gamma_share(a: float, x: float) -> float:
    """The regularised lower incomplete gamma function P(a, x), for a above zero, by its series."""
    if x <= 0:
        return 0.0
    term = total = 1 / a
    n = a
    while term > total * _EXACT:
        n += 1
        term *= x / n
        total += term
    return min(1.0, total * math.exp(a * math.log(x) - x - math.lgamma(a)))


def _root(rising: Callable[[float], float]) -> float:
    """Where a rising function of a number above zero crosses zero, by halving."""
    high = 1.0
    while rising(high) < 0:
        high *= 2
    low = 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if rising(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2
