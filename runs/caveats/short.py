"""Too little was measured for a steady figure."""

from collections.abc import Sequence

from runs.caveats.base import FIVE_TIMES, Experiment, Finding, Rule
from runs.caveats.load import LevelFacts
from runs.metrics.format import number

LEAST_S = 30.0
WAVES = 5  # requests for each client


def find(levels: Sequence[LevelFacts]) -> Finding | None:
    """Fire on a window below 30 s, or on fewer requests than five for each client."""
    brief = [level for level in levels if level.seconds is not None and level.seconds < LEAST_S]
    few = [
        level
        for level in levels
        if level.requests is not None and level.requests < WAVES * level.concurrency
    ]
    if not brief and not few:
        return None
    said = []
    if brief:
        least = min(level.seconds or 0.0 for level in brief)
        named = ", ".join(str(level.concurrency) for level in brief)
        said.append(f"the window of level {named} is {number(least)} s at the shortest, below 30")
    if few:
        worst = min(few, key=lambda level: (level.requests or 0) / level.concurrency)
        said.append(
            f"level {worst.concurrency} had {worst.requests} requests, fewer than "
            f"{WAVES} for each client"
        )
    text = f"{'; '.join(said)}: beginning and end weigh more than the steady part."
    evidence = {
        "short_levels": [each.concurrency for each in brief],
        "few_requests_levels": [each.concurrency for each in few],
    }
    return Finding("short", f"{text[:1].upper()}{text[1:]}", {k: [*v] for k, v in evidence.items()})


RULE: Rule[Sequence[LevelFacts]] = Rule(
    "short", "warn", find, Experiment("five times the requests", {"requests_per_level": FIVE_TIMES})
)
