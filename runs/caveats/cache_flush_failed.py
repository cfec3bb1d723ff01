"""A level was to begin with an empty cache, and the server refused."""

from collections.abc import Sequence

from runs.caveats.base import Experiment, Finding, Rule
from runs.caveats.load import LevelFacts


def find(levels: Sequence[LevelFacts]) -> Finding | None:
    """Fire when a flush was asked for and not granted."""
    refused = [level for level in levels if level.flushed is False]
    if not refused:
        return None
    named = [level.concurrency for level in refused]
    text = (
        f"The server did not flush its cache before level {', '.join(map(str, named))}: what "
        "earlier levels asked may have been answered from it."
    )
    return Finding(
        "cache-flush-failed", text, {"levels": list(named), "answer": refused[0].flush_answer[:120]}
    )


RULE: Rule[Sequence[LevelFacts]] = Rule(
    "cache-flush-failed",
    "warn",
    find,
    Experiment("new seed per level", {"cache_policy": "new-seed"}, confirmed_by="worse"),
)
