"""A server that may run fewer requests than were offered measures its queue."""

from runs.caveats.base import Facts, Finding


def find(facts: Facts) -> Finding | None:
    """Fire when the effective limit is below an offered concurrency."""
    limit = facts.max_running_requests
    above = [level for level in facts.levels if limit is not None and level > limit]
    if limit is None or not above:
        return None
    levels = " and ".join(str(level) for level in above)
    text = (
        f"The server runs at most {limit} requests: at concurrency {levels} the rest wait, so the "
        "queue is measured along with the engine."
    )
    return Finding("running-capped", text, {"max_running_requests": limit, "levels": [*above]})
