"""Accept rates that are not the same figure."""

from collections.abc import Sequence

from runs.caveats.arms import ArmFacts
from runs.caveats.base import Finding, Rule


def find(arms: Sequence[ArmFacts]) -> Finding | None:
    """Fire when the arms' logs define the accept rate differently."""
    told = {arm.name: arm.accept_definition for arm in arms if arm.accept_definition}
    if len(set(told.values())) < 2:
        return None
    said = ", ".join(f"{name}: {kind}" for name, kind in told.items())
    text = (
        f"The printed accept rates are defined differently ({said}): they are not compared. Accept "
        "len means the same in both."
    )
    return Finding("accept-rate-definition", text, {**told}, "block", metric="accept_rate")


RULE: Rule[Sequence[ArmFacts]] = Rule("accept-rate-definition", "block", find)
