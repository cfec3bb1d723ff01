"""A server that may run fewer requests than were offered measures its queue."""

from runs.caveats.base import LOWEST_LIMIT, Experiment, Facts, Finding, Rule


def find(facts: Facts) -> Finding | None:
    """Fire when the effective limit is below an offered concurrency, or below the one asked for."""
    limit = facts.max_running_requests
    above = [level for level in facts.levels if limit is not None and level > limit]
    asked = facts.asked_running
    if limit is not None and not above and asked is not None and limit < asked:
        text = (
            f"The server was asked for {asked} running requests and allows itself {limit}: nothing "
            "measured here reached that, more clients would."
        )
        return Finding(
            "running-capped", text, {"asked": asked, "max_running_requests": limit}, "info"
        )
    if limit is None or not above:
        return None
    levels = " and ".join(str(level) for level in above)
    text = (
        f"The server runs at most {limit} requests: at concurrency {levels} the rest wait, so the "
        "queue is measured along with the engine."
    )
    return Finding("running-capped", text, {"max_running_requests": limit, "levels": [*above]})


RULE: Rule[Facts] = Rule(
    "running-capped",
    "warn",
    find,
    Experiment("same running limit", {"max_running_requests": LOWEST_LIMIT}, arms="all"),
)
