"""Which decode lines tell a speed, and what they say together.

The throughput of a decode line is tokens since the last one over wall time since then. The first
line after a start, a gap or a prefill can hold time in which nothing was decoded.
"""

from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median, median_low
from typing import TypeAlias

from runs.engines.base import JSON, Sample, rank_tags
from runs.metrics.acceptance import level_accept_len
from runs.metrics.copies import once

# Below this share of the lines that follow at the same load, a first line is partial.
PARTIAL_BELOW = 0.7
# So many following lines give a steady median; all of a long log would be no better.
_FOLLOWING = 20
# Stamps are whole seconds, so a gap is never judged shorter than this.
_GAP_SECONDS = 5.0
_GAP_FACTOR = 5.0

# Who printed a line: a server among several in one text, and its rank.
_Writer: TypeAlias = tuple[JSON, str | None, JSON]


@dataclass(frozen=True, slots=True)
class LogFigures:
    """What the decode lines of one server say together; speeds without the partial lines.

    With DP ranks `output_tps` is the sum over ranks of each rank's mean.
    """

    decode_lines: int
    partial_lines: int
    output_tps: float | None
    accept_len: float | None
    running_max: int | None
    waiting_max: int | None


def decodes(samples: Sequence[Sample]) -> list[Sample]:
    return [each for each in samples if each.phase == "decode"]


def partial_windows(samples: Sequence[Sample]) -> set[int]:
    """Give the indexes, among the decode lines, of those that hold idle time."""
    streams: dict[_Writer, list[tuple[int, Sample, bool]]] = defaultdict(list)
    after_prefill: dict[_Writer, bool] = defaultdict(lambda: True)
    index = 0
    for sample in samples:
        if sample.phase not in ("decode", "prefill"):
            continue
        # Another life of the server, or another arm, says nothing of this one's speed.
        writer = (sample.extras.get("source"), sample.rank, sample.extras.get("segment"))
        if sample.phase == "prefill":
            after_prefill[writer] = True
            continue
        streams[writer].append((index, sample, after_prefill[writer]))
        after_prefill[writer] = False
        index += 1
    return {each for stream in streams.values() for each in _partial(stream)}


def _partial(stream: list[tuple[int, Sample, bool]]) -> set[int]:
    gaps = _gaps([sample for _, sample, _ in stream])
    recent: dict[int | None, list[Sample]] = defaultdict(list)
    found: set[int] = set()
    for place in range(len(stream) - 1, -1, -1):
        index, sample, first = stream[place]
        if sample.output_tps is None:
            continue
        following = recent[sample.running][-_FOLLOWING:]
        candidate = first or place in gaps
        if candidate and following and _is_slow(sample, following):
            found.add(index)
        else:
            recent[sample.running].append(sample)
    return found


def _is_slow(sample: Sample, following: list[Sample]) -> bool:
    """Compare a first line with those behind it: its tokens, and where told its steps a second.

    Fewer tokens at as many steps are no idle time: fewer guesses were accepted.
    """
    tokens = [each.output_tps for each in following if each.output_tps is not None]
    if not tokens or (sample.output_tps or 0) >= PARTIAL_BELOW * median(tokens):
        return False
    own, steps = _step_rate(sample), [each for each in map(_step_rate, following) if each]
    return own is None or not steps or own < PARTIAL_BELOW * median(steps)


def _step_rate(line: Sample) -> float | None:
    """Give the verified steps a second of all requests; None where they are not told."""
    if line.output_tps is None or not line.accept_len:
        return None
    return line.output_tps / line.accept_len


def _gaps(stream: list[Sample]) -> set[int]:
    """Give the places whose distance in time to the line before is much longer than usual."""
    times = [_clock(sample.time) for sample in stream]
    steps = {
        place: (here - before).total_seconds()
        for place, (before, here) in enumerate(pairwise(times), start=1)
        if before is not None and here is not None
    }
    if not steps:
        return set()
    # Of few lines the pause itself would be half of the usual distance.
    limit = max(_GAP_SECONDS, _GAP_FACTOR * median_low(steps.values()))
    return {place for place, step in steps.items() if step > limit}


def idle_gaps(lines: Sequence[Sample]) -> set[int]:
    """Give the places of decode lines that follow a pause much longer than usual."""
    return _gaps([*lines])


def _clock(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text if "T" in text else f"2000-01-01T{text}")
    except ValueError:
        return None


def seconds_between(before: str | None, here: str | None) -> float | None:
    """Give the time from one printed stamp to another; None where one of them is not told."""
    first, second = _clock(before), _clock(here)
    if first is None or second is None or (first.tzinfo is None) != (second.tzinfo is None):
        return None
    return (second - first).total_seconds()


def trimmed(samples: Sequence[Sample], partial: Container[int] | None = None) -> list[Sample]:
    """Give the decode lines whose throughput is a speed: those that are not partial.

    `partial` are the partial windows where somebody has found them already.
    """
    left_out = partial_windows(samples) if partial is None else partial
    return [each for index, each in enumerate(decodes(samples)) if index not in left_out]


def log_figures(samples: Sequence[Sample], partial: Container[int] | None = None) -> LogFigures:
    """Sum up the decode lines. Ranks of one DP group repeat one batch and are not added."""
    lines = decodes(samples)
    steady = trimmed(samples, partial)
    return LogFigures(
        decode_lines=len(lines),
        partial_lines=len(lines) - len(steady),
        output_tps=_mean_over_time(once(steady)),
        accept_len=level_accept_len(once(lines)),
        running_max=max((each.running for each in lines if each.running is not None), default=None),
        waiting_max=max((each.waiting for each in lines if each.waiting is not None), default=None),
    )


def _mean_over_time(steady: Sequence[Sample]) -> float | None:
    """Mean of each DP rank's lines, summed over DP ranks; of one DP rank the first TP rank counts.

    A pipeline's stages print the same tokens: only the first that printed is taken.
    """
    groups: dict[int, dict[str | None, list[float]]] = defaultdict(lambda: defaultdict(list))
    for sample in steady:
        if sample.output_tps is not None:
            groups[rank_tags(sample.rank).get("DP", 0)][sample.rank].append(sample.output_tps)
    firsts = [next(iter(ranks.values())) for ranks in groups.values()]
    return sum(sum(values) / len(values) for values in firsts) if firsts else None
