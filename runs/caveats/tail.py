"""A 99 % figure of too few requests."""

from collections.abc import Sequence

from runs.caveats.base import Finding, Rule
from runs.caveats.load import LevelFacts

RELIABLE = 500


def find(levels: Sequence[LevelFacts]) -> Finding | None:
    """Fire when a 99 % figure is told of fewer than 500 requests."""
    few = [
        level
        for level in levels
        if level.tail_told and level.requests is not None and level.requests < RELIABLE
    ]
    if not few:
        return None
    least = min(few, key=lambda level: level.requests or 0)
    beyond = (least.requests or 0) / 100
    text = (
        f"The 99 % figures are of {least.requests} requests at level {least.concurrency}, with "
        f"{beyond:.1f} beyond them: unreliable below {RELIABLE}. The medians are not touched."
    )
    evidence = {"level": least.concurrency, "requests": least.requests}
    return Finding("tail", text, {**evidence})


RULE: Rule[Sequence[LevelFacts]] = Rule("tail", "warn", find)
