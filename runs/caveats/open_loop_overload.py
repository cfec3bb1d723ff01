"""More requests are offered than the server finishes."""

from collections.abc import Sequence

from runs.caveats.base import Finding, Rule
from runs.caveats.load import LevelFacts
from runs.metrics.format import number, share

MAX_LAG = 0.05


def find(levels: Sequence[LevelFacts]) -> Finding | None:
    """Fire when the offered rate is over 5 % above the served one and the queue grows."""
    for level in levels:
        asked, served = level.asked_rate, level.served_rate
        first, last = level.waiting_first, level.waiting_last
        if not asked or not served or first is None or last is None:
            continue
        if asked <= (1 + MAX_LAG) * served or last <= first:
            continue
        text = (
            f"At level {level.concurrency} {asked:g} requests/s were offered and {served:.3g} "
            f"finished ({share(asked / served - 1)} more), while the queue grew from "
            f"{number(first)} to {number(last)}: the time to first token is the length of the run."
        )
        evidence = {
            "level": level.concurrency,
            "offered": asked,
            "served": round(served, 4),
            "waiting_first": round(first, 2),
            "waiting_last": round(last, 2),
        }
        return Finding("open-loop-overload", text, {**evidence})
    return None


RULE: Rule[Sequence[LevelFacts]] = Rule("open-loop-overload", "warn", find)
