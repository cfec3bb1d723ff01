"""The log does not tell of the time in which the client measured."""

from collections.abc import Sequence

from runs.caveats.base import Finding, Rule
from runs.caveats.load import LevelFacts
from runs.metrics.format import number

FACTOR = 3.0
LEAST_GAP_S = 7.0  # stamps are whole seconds at both ends
LEAST_LINES = 5
LEAST_S = 30.0  # in a shorter window a slow server may print no line


def find(levels: Sequence[LevelFacts]) -> Finding | None:
    """Fire when lines end long before the window does, or all lie outside it."""
    for level in levels:
        found = _outside(level) or _ended(level)
        if found is not None:
            return found
    return None


def _outside(level: LevelFacts) -> Finding | None:
    if level.log_lines or level.log_elsewhere < LEAST_LINES or (level.seconds or 0.0) < LEAST_S:
        return None
    text = (
        f"None of the log's {level.log_elsewhere} decode lines is of the {number(level.seconds)} s "
        f"in which level {level.concurrency} was measured: the log is of another time or another "
        "process, so nothing in it belongs to this level."
    )
    evidence = {"level": level.concurrency, "lines_elsewhere": level.log_elsewhere}
    return Finding("stale-log", text, {**evidence, "window_s": level.seconds})


def _ended(level: LevelFacts) -> Finding | None:
    age, usual = level.log_age, level.log_interval
    if age is None or usual is None or level.log_lines < LEAST_LINES:
        return None
    if age <= max(FACTOR * usual, LEAST_GAP_S):
        return None
    text = (
        f"The log's newest line of level {level.concurrency} was written {number(age)} s before "
        f"the client was done, and lines come every {number(usual)} s: the log stopped telling."
    )
    evidence = {"level": level.concurrency, "age_s": round(age, 2), "usual_s": round(usual, 2)}
    return Finding("stale-log", text, {**evidence})


RULE: Rule[Sequence[LevelFacts]] = Rule("stale-log", "block", find)
