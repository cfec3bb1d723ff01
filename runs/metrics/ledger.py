"""Why one arm is faster: the change of tokens per second, split exactly into its factors.

ln(B / A) is the sum of the bars: occupancy, accept len, step rate, and what is left between the
client's figure and the log's.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from runs.metrics.estimate import estimate
from runs.metrics.noise import Noise, assumed_noise
from runs.metrics.passes import Factors

LABELS = {
    "occupancy": "occupancy",
    "accept_len": "accept len",
    "steps": "step rate",
    "per_request": "per request",
    "remainder": "remainder",
}


@dataclass(frozen=True, slots=True)
class Told:
    """One launch at one level: the client's output tokens per second and the log's factors."""

    client_tps: float
    factors: Factors | None


@dataclass(frozen=True, slots=True)
class Bar:
    """One factor. `before` and `after` are geometric means over launches, `d` ln(after / before).

    `low` and `high` bound the ratio with 95 % confidence; None for single launches.
    """

    key: str
    before: float
    after: float
    d: float
    low: float | None
    high: float | None

    @property
    def label(self) -> str:
        return LABELS[self.key]

    @property
    def ratio(self) -> float:
        return math.exp(self.d)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The bars of one level; `d` is their sum, exactly the change of the client's figure.

    `missing` says why there are none. `break_even` is the accept len at which the second arm
    would be as fast as the first, if its step rate and occupancy stay; `margin` is the share of
    its accept len that it may lose until then, below zero if it is slower already. `launches` are
    those that were counted, of each arm.
    """

    bars: tuple[Bar, ...]
    d: float
    launches: tuple[int, int]
    break_even: float | None = None
    margin: float | None = None
    missing: str = ""

    @property
    def ratio(self) -> float:
        return math.exp(self.d)


def ledger(
    before: Sequence[Told], after: Sequence[Told], names: tuple[str, str] = ("A", "B")
) -> Ledger:
    """Split the change from the launches of one arm to those of the other, at one level.

    Launches without a log's factors are left out; `names` are the arms' for the sentence that
    says so where none is left.
    """
    arms = [[each for each in arm if each.factors is not None] for arm in (before, after)]
    count = (len(arms[0]), len(arms[1]))
    lacking = [name for name, arm in zip(names, arms, strict=True) if not arm]
    if lacking:
        return Ledger((), 0.0, count, missing=f"needs the server's log of {' and '.join(lacking)}")
    told = [[_values(each) for each in arm] for arm in arms]
    split = all("steps" in launch for arm in told for launch in arm)
    keys = ("occupancy", "accept_len", "steps") if split else ("occupancy", "per_request")
    bars = tuple(_bar(key, *([launch[key] for launch in arm] for arm in told))
                 for key in (*keys, "remainder"))  # fmt: skip
    even = _break_even(bars) if split else None
    length = next((bar.after for bar in bars if bar.key == "accept_len"), None)
    margin = 1 - even / length if even is not None and length else None
    return Ledger(bars, math.fsum(bar.d for bar in bars), count, even, margin)


def _values(told: Told) -> dict[str, float]:
    factors = told.factors
    if factors is None:
        raise ValueError("a launch without a log has no factors")
    values = {
        "occupancy": factors.occupancy,
        "per_request": factors.per_request,
        "remainder": told.client_tps / factors.tps,
    }
    if factors.accept_len is not None and factors.steps is not None:
        values |= {"accept_len": factors.accept_len, "steps": factors.steps}
    return values


def _bar(key: str, before: Sequence[float], after: Sequence[float]) -> Bar:
    left, right = (fmean(map(math.log, values)) for values in (before, after))
    low = high = None
    if min(len(before), len(after)) > 1:
        found = estimate(before, after, _noise(key))
        if found is not None:
            low, high = found.interval()
    return Bar(key, math.exp(left), math.exp(right), right - left, low, high)


def _noise(key: str) -> Noise:
    return assumed_noise("accept_len" if key == "accept_len" else "output_tps")


def _break_even(bars: Sequence[Bar]) -> float | None:
    """The first arm's accept len times what the second pays for its own in passes.

    None where the second arm does not speculate: there is nothing it could lose.
    """
    by_key = {bar.key: bar for bar in bars}
    length = by_key["accept_len"]
    if length.after <= 1:
        return None
    paid = by_key["occupancy"].d + by_key["steps"].d
    return length.before * math.exp(-paid)
