"""The client is the limit, not the server."""

from collections.abc import Sequence

from runs.caveats.base import Finding, Rule
from runs.caveats.foreign_load import LEAST_LINES, LEAST_S, STAMPS_S, excess_of
from runs.caveats.load import LevelFacts
from runs.metrics.format import number, share

MAX_CPU = 0.9
MAX_REMAINDER = 0.03
MIN_RUNNING = 0.5  # of what the client has in flight


def find(levels: Sequence[LevelFacts]) -> Finding | None:
    """Fire on a busy client, an idle server without a queue, or tokens that the log misses."""
    return _busy(levels) or _held(levels) or _remainder(levels)


def _busy(levels: Sequence[LevelFacts]) -> Finding | None:
    cpu = max((level.client_cpu for level in levels if level.client_cpu is not None), default=0.0)
    if cpu <= MAX_CPU:
        return None
    text = (
        f"The client kept its core {share(cpu)} busy: its own latencies stand in every figure. Use "
        "more clients, or a lighter one."
    )
    return Finding("client-bottleneck", text, {"client_cpu": round(cpu, 3)})


def _held(levels: Sequence[LevelFacts]) -> Finding | None:
    for level in levels:
        running = level.running_mean
        if not running or level.waiting_mean != 0 or level.log_lines < LEAST_LINES:
            continue
        if running < MIN_RUNNING * level.concurrency:
            text = (
                f"At level {level.concurrency} the server ran {number(running)} requests on "
                "average and none waited: the client, its core or a proxy holds the rest."
            )
            evidence = {"level": level.concurrency, "running_mean": round(running, 3)}
            return Finding("client-bottleneck", text, {**evidence})
    return None


def _remainder(levels: Sequence[LevelFacts]) -> Finding | None:
    for level in levels:
        excess = excess_of(level)
        if excess is not None and -excess > MAX_REMAINDER + STAMPS_S / (
            level.log_seconds or LEAST_S
        ):
            text = (
                f"At level {level.concurrency} the client received {number(level.client_tps)} "
                f"tok/s and the server's log tells {number(level.log_tps)} of the same seconds: "
                f"{share(-excess)} are missing from the log, or counted otherwise."
            )
            evidence = {"level": level.concurrency, "remainder": round(-excess, 4)}
            return Finding("client-bottleneck", text, {**evidence})
    return None


RULE: Rule[Sequence[LevelFacts]] = Rule("client-bottleneck", "warn", find)
