"""Warm-up requests were still in flight when measuring began."""

from collections.abc import Sequence

from runs.caveats.base import Finding, Rule
from runs.caveats.load import LevelFacts


def find(levels: Sequence[LevelFacts]) -> Finding | None:
    """Fire when more requests ran in the first seconds than the client offers, and not later."""
    for level in levels:
        first, later = level.running_first, level.running_later
        if (
            first is None
            or later is None
            or first <= level.concurrency
            or later > level.concurrency
        ):
            continue
        text = (
            f"{first} requests ran when level {level.concurrency} began and {later} at most after: "
            "warm-up requests were still in flight, and the first figures are theirs too."
        )
        evidence = {"level": level.concurrency, "running_first": first, "running_later": later}
        return Finding("handover", text, {**evidence})
    return None


RULE: Rule[Sequence[LevelFacts]] = Rule("handover", "warn", find)
