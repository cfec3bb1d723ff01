"""Somebody else used the GPUs, or the server, while this run was measured."""

from collections.abc import Sequence

from runs.caveats.base import Experiment, Finding, Rule
from runs.caveats.load import LevelFacts
from runs.engines.base import JSON
from runs.metrics.format import number, share, size

MAX_EXCESS = 0.03
# The log's times have whole seconds; at both ends of the window.
STAMPS_S = 2.0
LEAST_S = 30.0
LEAST_LINES = 20


def find(levels: Sequence[LevelFacts]) -> Finding | None:
    """Fire on other processes on the GPUs, or on tokens that this client did not ask for."""
    return _others(levels) or _excess(levels)


def _others(levels: Sequence[LevelFacts]) -> Finding | None:
    seen = [(level, gpu) for level in levels for gpu in level.gpus if gpu.strangers]
    if not seen:
        return None
    level, worst = max(seen, key=lambda pair: (pair[1].strangers_bytes or 0, pair[1].strangers))
    most = worst.strangers_most
    who = "Another process was" if most == 1 else f"{most} other processes were"
    memory = worst.strangers_bytes
    held = "" if memory is None else f", with {size(memory)} of its memory"
    text = (
        f"{who} on GPU {worst.gpu} while level {level.concurrency} was measured{held} "
        f"({worst.strangers} of {worst.all_samples} samples): the figures are not those of this "
        "server alone."
    )
    evidence: dict[str, JSON] = {
        "levels": [*sorted({each.concurrency for each, _ in seen})],
        "gpus": [*sorted({gpu.gpu for _, gpu in seen})],
        "processes": worst.strangers_most,
        "samples": worst.strangers,
    }
    return Finding("foreign-load", text, evidence)


def _excess(levels: Sequence[LevelFacts]) -> Finding | None:
    told = [(found, level) for level in levels if (found := excess_of(level)) is not None]
    if not told:
        return None
    excess, level = max(told, key=lambda pair: pair[0])
    if excess <= MAX_EXCESS + STAMPS_S / (level.log_seconds or LEAST_S):
        return None
    text = (
        f"At level {level.concurrency} the server's log tells {number(level.log_tps)} tok/s and "
        f"this client received {number(level.client_tps)} in the same {number(level.log_seconds)} "
        f"s: {share(excess)} more were made for somebody else."
    )
    evidence: dict[str, JSON] = {
        "level": level.concurrency,
        "log_tps": round(level.log_tps or 0.0, 4),
        "client_tps": round(level.client_tps or 0.0, 4),
        "excess": round(excess, 4),
    }
    return Finding("foreign-load", text, evidence)


def excess_of(level: LevelFacts) -> float | None:
    """How much more the server made than the client received; None if that cannot be told."""
    if level.log_tps is None or not level.client_tps:
        return None
    if level.log_seconds is None or level.log_seconds < LEAST_S or level.log_lines < LEAST_LINES:
        return None
    return level.log_tps / level.client_tps - 1


RULE: Rule[Sequence[LevelFacts]] = Rule(
    "foreign-load", "block", find, Experiment("again, interleaved", arms="all")
)
