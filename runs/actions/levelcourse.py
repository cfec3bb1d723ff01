"""What a level's window looked like in time: its lines, its waiting, the warmth of the server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import Any

from runs.models import Attempt, Event, Level, Sample

LEAST = 12  # lines, for thirds of a window to mean something
BEGIN_S = 5.0  # warm-up requests that are still in flight are seen here


def course(
    attempt: Attempt, level: Level, samples: Sequence[Sample], log_lines: int
) -> dict[str, Any]:
    """The facts of :class:`LevelFacts` that tell of time; what is not known is left out."""
    summary = level.summary
    steady = steady_of(level)
    start, end = steady.get("start"), steady.get("end")
    inside = decode_lines(samples, level.started, level.ended)
    lines = decode_lines(samples, start, end)
    thirds = lines[: len(lines) // 3], lines[-(len(lines) // 3) :]
    workload = attempt.run.arm.workload
    known = {
        "seconds": _span(start, end) or _span(level.started, level.ended),
        "warmed": workload.warmup_requests,
        "step_fall": _step_fall(lines),
        "running_mean": level.running_mean,
        "waiting_mean": level.waiting_mean,
        "tail_told": (summary.get("ttft") or {}).get("p99") is not None,
        "asked_rate": workload.driver_settings.get("request_rate"),
        "served_rate": summary.get("requests_per_s"),
        "output_tps": level.output_tps,
        "accept_len_cumulative": summary.get("accept_len_cumulative"),
        "log_elsewhere": log_lines - len(inside),
        **_running(inside, level.started),
        **_newest(lines, end),
    }
    if len(lines) >= LEAST:
        known["waiting_first"], known["waiting_last"] = map(_waiting, thirds)
    return {name: value for name, value in known.items() if value is not None}


def steady_of(level: Level) -> dict[str, Any]:
    """The client's own steady span and rate, or the window that somebody chose."""
    if not level.edited:
        return level.summary.get("steady") or {}
    rate = level.output_tps if level.window_tps else None
    return {"start": level.window_start, "end": level.window_end, "output_tps": rate}


def client_cpu(attempt: Attempt, levels: Sequence[Level]) -> float | None:
    """The share of one core that our own client used, over all levels."""
    done = Event.objects.filter(attempt=attempt, kind="load-done").order_by("pk").last()
    seconds = (done.data if done else {}).get("cpu_s")
    begun = [level.started for level in levels if level.started is not None]
    ended = [level.ended for level in levels if level.ended is not None]
    if not isinstance(seconds, int | float) or not begun or not ended:
        return None
    span = max(ended) - min(begun)
    return seconds / span if span > 0 else None


def _span(start: float | None, end: float | None) -> float | None:
    return end - start if start is not None and end is not None and end > start else None


def _step_fall(lines: Sequence[Sample]) -> float | None:
    """How much shorter a forward pass was in the last third than in the first, as a fraction.

    A pass takes running × accept len / tok/s seconds; lines at the usual load are compared.
    """
    told = [
        (line.running, line.running * (line.accept_len or 1.0) / line.output_tps)
        for line in lines
        if line.running and line.output_tps
    ]
    if len(told) < LEAST:
        return None
    usual = median(running for running, _ in told)
    steps = [step for running, step in told if abs(running - usual) <= 0.05 * usual]
    if len(steps) < LEAST:
        return None
    third = len(steps) // 3
    return 1 - median(steps[-third:]) / median(steps[:third])


def _running(lines: Sequence[Sample], start: float | None) -> dict[str, int]:
    """The most that ran in the first seconds of the window, and the most after them."""
    if start is None:
        return {}
    told = [(line.time, line.running) for line in lines if line.time and line.running is not None]
    first = [running for time, running in told if time <= start + BEGIN_S]
    later = [running for time, running in told if time > start + BEGIN_S]
    return {"running_first": max(first), "running_later": max(later)} if first and later else {}


def _newest(lines: Sequence[Sample], end: float | None) -> dict[str, float]:
    times = sorted(line.time for line in lines if line.time is not None)
    if end is None or len(times) < 3:
        return {}
    usual = median(b - a for a, b in pairwise(times))
    return {"log_age": end - times[-1], "log_interval": usual}


def _waiting(lines: Sequence[Sample]) -> float | None:
    told = [line.waiting for line in lines if line.waiting is not None]
    return fmean(told) if told else None


def decode_lines(
    samples: Iterable[Sample], start: float | None, end: float | None, margin: float = 0.0
) -> list[Sample]:
    """The decode lines of [start + margin, end - margin], epoch seconds; none if not known.

    A line speaks of the interval before it and its stamp has whole seconds: without a margin the
    first lines of a window still tell of what was before.
    """
    if start is None or end is None:
        return []
    start, end = start + margin, end - margin
    return [
        sample
        for sample in samples
        if sample.phase == Sample.Phase.DECODE
        and sample.time is not None
        and start <= sample.time <= end
    ]
