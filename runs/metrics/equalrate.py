"""A latency at equal achieved rate: what an arm takes while it serves as much as the other did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import geometric_mean

# Rates that differ by less are equal: then the level itself is compared.
ALIKE = 0.02


def at_equal_rate(
    values: Sequence[Mapping[int, float]],
    rates: Sequence[Mapping[int, float]],
    wanted: Sequence[Mapping[int, float]],
) -> list[dict[int, float]]:
    """Each launch's `values` by level, read between its own levels at the baseline's rate.

    `rates` are the same launches' output tokens per second by level, `wanted` those of the
    baseline's. A level whose rate the launch never came down to, or reached, is left out: nothing
    is extrapolated.
    """
    levels = {level for launch in wanted for level in launch}
    targets = {
        level: geometric_mean([launch[level] for launch in wanted if level in launch])
        for level in levels
    }
    return [
        {
            level: value
            for level, target in sorted(targets.items())
            if (value := _at(level, target, own, rate)) is not None
        }
        for own, rate in zip(values, rates, strict=True)
    ]


def _at(
    level: int, target: float, own: Mapping[int, float], rate: Mapping[int, float]
) -> float | None:
    if level in own and level in rate and abs(rate[level] / target - 1) <= ALIKE:
        return own[level]
    points = sorted((rate[each], own[each]) for each in own if each in rate)
    for (low, before), (high, after) in pairwise(points):
        if low <= target <= high and high > low:
            return before + (after - before) * (target - low) / (high - low)
    return None
