"""One arm overlaps scheduling with the forward pass, another does not."""

from collections.abc import Sequence

from runs.caveats.arms import ArmFacts
from runs.caveats.base import Experiment, Finding, Rule


def find(arms: Sequence[ArmFacts]) -> Finding | None:
    """Fire when overlap scheduling is known to be on in one arm and off in another."""
    on = [arm.name for arm in arms if arm.overlap is True]
    off = [arm.name for arm in arms if arm.overlap is False]
    if not on or not off:
        return None
    text = (
        f"Overlap scheduling is on in {', '.join(on)} and off in {', '.join(off)}: part of the "
        "difference is that, since speculation may switch it off by itself."
    )
    return Finding("overlap-differs", text, {"on": [*on], "off": [*off]})


RULE: Rule[Sequence[ArmFacts]] = Rule(
    "overlap-differs",
    "info",
    find,
    Experiment("overlap off in all", {"--disable-overlap-schedule": True}, arms="all"),
)
