"""The prefix cache helped one arm more than another."""

from collections.abc import Sequence

from runs.caveats.arms import ArmFacts, widest
from runs.caveats.base import Experiment, Finding, Rule
from runs.metrics.format import share

MAX_POINTS = 0.05


def find(arms: Sequence[ArmFacts]) -> Finding | None:
    """Fire when hit rates at one level differ by more than five points."""
    gap = widest(arms, lambda arm: arm.hit_rates, lambda one, two: abs(two - one))
    if gap is None or gap.size <= MAX_POINTS:
        return None
    base = arms[0].name
    text = (
        f"At concurrency {gap.level} the prefix cache answered {share(gap.one)} of the prompt "
        f"tokens of {base} and {share(gap.two)} of {gap.arm.name}: times to first token are not "
        "of equal work."
    )
    evidence = {"level": gap.level, base: round(gap.one, 4), gap.arm.name: round(gap.two, 4)}
    return Finding("prefix-cache-warm", text, {**evidence})


RULE: Rule[Sequence[ArmFacts]] = Rule(
    "prefix-cache-warm",
    "warn",
    find,
    Experiment("flush the cache first, in all", {"cache_policy": "flush"}, arms="all"),
)
