"""The arms were not measured side by side in time."""

from collections.abc import Sequence
from itertools import pairwise

from runs.caveats.arms import ArmFacts
from runs.caveats.base import Experiment, Finding, Rule

FAR_S = 6 * 3600.0


def find(arms: Sequence[ArmFacts]) -> Finding | None:
    """Fire when arms lie over 6 h apart, or all launches of one came before all of another."""
    told = [arm for arm in arms if arm.starts]
    if len(told) < 2:
        return None
    order = sorted((start, index) for index, arm in enumerate(told) for start in arm.starts)
    turns = sum(a != b for (_, a), (_, b) in pairwise(order))
    if turns >= len(told):  # more turns than one for each change of arm: mixed in time
        return None
    ordered = sorted(told, key=lambda arm: min(arm.starts))
    gap = max(min(b.starts) - max(a.starts) for a, b in pairwise(ordered))
    if gap > FAR_S:
        text = (
            f"The arms were started {gap / 3600:.0f} h apart and not interleaved: whatever changed "
            "on the host meanwhile counts as a difference of the arms."
        )
        return Finding("unpaired", text, {"hours_apart": round(gap / 3600, 1)})
    if min(len(arm.starts) for arm in told) < 2:
        return None
    names = " before ".join(arm.name for arm in ordered)
    text = (
        f"All launches of one arm came before all of the other ({names}; "
        f"{max(gap, 0) / 60:.0f} min between them): a host that drifts looks like a difference."
    )
    return Finding("unpaired", text, {"minutes_apart": round(max(gap, 0.0) / 60, 1)})


RULE: Rule[Sequence[ArmFacts]] = Rule(
    "unpaired", "warn", find, Experiment("again, interleaved", arms="all")
)
