"""Not all requests succeeded."""

from collections.abc import Sequence

from runs.caveats.base import Finding, Rule
from runs.caveats.load import LevelFacts
from runs.engines.base import JSON
from runs.metrics.verdict import MOST_FAILED


def find(levels: Sequence[LevelFacts]) -> Finding | None:
    """Fire on failed requests of any level."""
    short = [level for level in levels if level.failed]
    if not short:
        return None
    failed = sum(level.failed for level in short)
    asked = sum(level.requests or 0 for level in short)
    of = f" of {asked}" if asked else ""
    named = ", ".join(str(level.concurrency) for level in short)
    text = (
        f"{failed}{of} requests failed at level {named}: speeds are of the rest, and the rest had "
        "the server for itself."
    )
    worst = max(level.failed / level.requests if level.requests else 1.0 for level in short)
    evidence: dict[str, JSON] = {
        "failed": failed,
        "levels": [each.concurrency for each in short],
        "worst_share": round(worst, 4),
    }
    return Finding("failed-requests", text, evidence, "block" if worst > MOST_FAILED else "warn")


RULE: Rule[Sequence[LevelFacts]] = Rule("failed-requests", "warn", find)
