"""The prefix cache helped one arm more than another."""

from collections.abc import Sequence

from runs.caveats.arms import ArmFacts, shared
from runs.caveats.base import Experiment, Finding, Rule
from runs.metrics.format import share

MAX_POINTS = 0.05


def find(arms: Sequence[ArmFacts]) -> Finding | None:
    """Fire when hit rates at one level differ by more than five points."""
    base = arms[0]
    gaps = [
        (abs(arm.hit_rates[level] - base.hit_rates[level]), level, arm)
        for arm in arms[1:]
        for level in shared(base.hit_rates, arm.hit_rates)
        if arm.hit_rates and base.hit_rates
    ]
    if not gaps:
        return None
    gap, level, arm = max(gaps, key=lambda each: each[0])
    if gap <= MAX_POINTS or not (arm.hit_rates and base.hit_rates):
        return None
    one, two = base.hit_rates[level], arm.hit_rates[level]
    text = (
        f"At concurrency {level} the prefix cache answered {share(one)} of the prompt tokens of "
        f"{base.name} and {share(two)} of {arm.name}: times to first token are not of equal work."
    )
    evidence = {"level": level, base.name: round(one, 4), arm.name: round(two, 4)}
    return Finding("prefix-cache-warm", text, {**evidence})


RULE: Rule[Sequence[ArmFacts]] = Rule(
    "prefix-cache-warm",
    "warn",
    find,
    Experiment("flush the cache first, in all", {"cache_policy": "flush"}, arms="all"),
)
