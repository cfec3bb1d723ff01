"""Group-sequential looks: whether a campaign may stop early, and what it then says."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from runs.metrics.planning import MOST_LOOKS
from runs.metrics.verdict import Judgement
from runs.metrics.wording import BETTER, WORSE, Word

LEAST_LAUNCHES = 2  # of each arm: the fewest of which there is an interval
_APART = 2  # launches between looks; a single one hardly moves the interval


class Decision(StrEnum):
    """What one look says of one arm against the baseline."""

    BETTER = "better"
    WORSE = "worse"
    EQUIVALENT = "equivalent"
    GO_ON = "go on"


def decide(found: Judgement) -> Decision:
    """The rule. The judgement's intervals must be those of a plan with so many looks.

    Only the sweep decides, since it is one test; a sweep that is mixed, unsafe or not comparable
    settles nothing.
    """
    word = found.sweep.word
    if word in BETTER:
        return Decision.BETTER
    if word in WORSE:
        return Decision.WORSE
    return Decision.EQUIVALENT if word is Word.SAME else Decision.GO_ON


def may_stop(decisions: Sequence[Decision]) -> bool:
    """Whether every arm is settled, so that further launches would only cost time."""
    return bool(decisions) and Decision.GO_ON not in decisions


def planned_looks(launches: int, looks: int) -> list[int]:
    """Launches per arm at each look, the last at the end: 7 launches, 3 looks give 3, 5, 7.

    A plan too short for so many looks gets fewer; one launch is nothing to look at. Raises
    ValueError for more looks than are allowed.
    """
    if not 1 <= looks <= MOST_LOOKS:
        raise ValueError(f"a plan has one to {MOST_LOOKS} looks, not {looks}")
    if launches < LEAST_LAUNCHES:
        return []
    apart = max(_APART, round(launches / looks))
    found = [launches - apart * back for back in range(looks)]
    return sorted(each for each in found if each >= LEAST_LAUNCHES)
