"""Not all requests succeeded."""

from collections.abc import Sequence

from runs.caveats.base import Finding
from runs.caveats.load import LevelFacts


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
    return Finding(
        "failed-requests", text, {"failed": failed, "levels": [each.concurrency for each in short]}
    )
