"""What vLLM's interval lines say together."""

import re
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from runs.engines.base import JSON, Sample
from runs.metrics.acceptance import pooled_accept_len
from runs.metrics.copies import once

_ENGINE = re.compile(r"Engine [0-9]+\Z")


def intervals_of(samples: Sequence[Sample]) -> dict[str, JSON]:
    """Give loads and means. Engines of one server share its load: theirs are added."""
    lines = [each for each in samples if each.phase == "interval"]
    drafts = [each for each in samples if each.phase == "spec_interval"]
    found: dict[str, JSON] = {}
    if lines:
        running, load = _most(lines)
        found |= {
            "intervals": len(lines),
            "running_req_max": running,
            "offered_concurrency_estimate": load or None,
            "gen_throughput_mean": _mean(once(lines)),
        }
    positions = [each.extras.get("per_position") for each in drafts]
    count = next((len(each) for each in positions if isinstance(each, list)), None)
    return found | {
        "num_speculative_tokens": count,
        "accept_len_pooled": pooled_accept_len(drafts, count) if count else None,
    }


def engine_of(line: Sample) -> str | None:
    """Give the engine that printed a line; None for lines of all engines."""
    return line.rank if line.rank and _ENGINE.match(line.rank) else None


def _mean(lines: Sequence[Sample]) -> float | None:
    """Give the mean over time: of each engine, added over the engines of each server."""
    speeds: dict[JSON, dict[str | None, list[float]]] = defaultdict(lambda: defaultdict(list))
    for each in lines:
        if each.output_tps is not None:
            speeds[each.extras.get("source")][engine_of(each)].append(each.output_tps)
    if len(speeds) != 1:
        return None
    (engines,) = speeds.values()
    if None in engines:
        return fmean(value for values in engines.values() for value in values)
    return sum(fmean(values) for values in engines.values())


def _most(lines: Sequence[Sample]) -> tuple[int, int]:
    """Give the most running, and running and waiting, of the engines that print at one time."""
    moments: dict[tuple[JSON, str | None, int], dict[str | None, Sample]] = defaultdict(dict)
    for place, each in enumerate(lines):
        alone = place if each.time is None or engine_of(each) is None else -1
        moments[(each.extras.get("source"), each.time, alone)][engine_of(each)] = each
    running = [sum(each.running or 0 for each in engines.values()) for engines in moments.values()]
    waiting = [sum(each.waiting or 0 for each in engines.values()) for engines in moments.values()]
    return max(running), max(map(sum, zip(running, waiting, strict=True)))
