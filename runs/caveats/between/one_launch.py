"""Repeats within one launch are no repeats of the launch."""

from collections.abc import Sequence

from runs.caveats.arms import ArmFacts
from runs.caveats.base import Experiment, Finding, Rule


def find(arms: Sequence[ArmFacts]) -> Finding | None:
    """Fire when an arm's only launch measured a level several times."""
    alone = [arm for arm in arms if arm.launches == 1 and arm.repeated > 1]
    if not alone:
        return None
    said = ", ".join(f"{arm.repeated} of {arm.name}" for arm in alone)
    text = (
        f"All repeats are from one launch ({said}): they agree with each other more than two "
        "launches would, so they count as one."
    )
    return Finding("one-launch", text, {arm.name: arm.repeated for arm in alone})


RULE: Rule[Sequence[ArmFacts]] = Rule(
    "one-launch", "warn", find, Experiment("three launches of each", arms="all")
)
