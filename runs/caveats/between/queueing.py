"""Requests wait in one arm and not in the other."""

from collections.abc import Sequence

from runs.caveats.arms import ArmFacts
from runs.caveats.base import LOWEST_LIMIT, Experiment, Finding, Rule
from runs.metrics.format import share

MIN_SHARE = 0.1
LEAST_LINES = 5


def find(arms: Sequence[ArmFacts]) -> Finding | None:
    """Fire when requests wait in over a tenth of one arm's lines, and not in another's."""
    told = [(arm.lines_waiting / arm.lines, arm) for arm in arms if arm.lines >= LEAST_LINES]
    waits = [(part, arm) for part, arm in told if part > MIN_SHARE]
    if not waits or len(waits) == len(told):
        return None
    part, worst = max(waits, key=lambda each: each[0])
    others = ", ".join(arm.name for each, arm in told if each <= MIN_SHARE)
    text = (
        f"Requests wait in {share(part)} of the lines of {worst.name} and not in {others}: one "
        "arm's latencies hold a queue, the other's do not."
    )
    return Finding("queueing", text, {worst.name: round(part, 4)})


RULE: Rule[Sequence[ArmFacts]] = Rule(
    "queueing",
    "warn",
    find,
    Experiment("same running limit", {"max_running_requests": LOWEST_LIMIT}, arms="all"),
)
