"""The accept len is the server's mean since its start, not the level's."""

from collections.abc import Sequence

from runs.caveats.base import Finding, Rule
from runs.caveats.load import LevelFacts


def find(levels: Sequence[LevelFacts]) -> Finding | None:
    """Fire when a client took the accept len from the server's counters."""
    told = [level for level in levels if level.accept_len_cumulative is not None]
    if not told:
        return None
    level = told[-1]
    text = (
        f"The client's accept len at level {level.concurrency} ({level.accept_len_cumulative:.2f}) "
        "is the server's mean since its start, warm-up and earlier levels included: the level's "
        "own stands in the server's log."
    )
    evidence = {"level": level.concurrency, "accept_len": level.accept_len_cumulative}
    return Finding("accept-len-cumulative", text, {**evidence})


RULE: Rule[Sequence[LevelFacts]] = Rule("accept-len-cumulative", "warn", find)
