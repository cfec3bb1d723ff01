"""The best level stands at the edge of what was tried."""

from collections.abc import Sequence

from runs.caveats.base import Finding, Rule
from runs.caveats.load import LevelFacts
from runs.metrics.format import number

LEAST_LEVELS = 3


def find(levels: Sequence[LevelFacts]) -> Finding | None:
    """Fire when throughput is best at the first or the last of three levels or more."""
    told = sorted(
        (level.concurrency, level.output_tps) for level in levels if level.output_tps is not None
    )
    if len(told) < LEAST_LEVELS or len({level for level, _ in told}) < LEAST_LEVELS:
        return None
    best = max(told, key=lambda pair: pair[1])
    if best not in (told[0], told[-1]):
        return None
    last = best == told[-1]
    word = "last" if last else "first"
    why = "is not saturated: the peak may lie higher" if last else "only loses from there on"
    text = (
        f"Output is best at concurrency {best[0]} ({number(best[1])} tok/s), the {word} that was "
        f"tried: the sweep {why}."
    )
    return Finding("search-edge", text, {"level": best[0], "output_tps": round(best[1], 2)})


RULE: Rule[Sequence[LevelFacts]] = Rule("search-edge", "info", find)
