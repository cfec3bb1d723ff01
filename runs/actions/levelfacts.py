"""What the rules about the load are told of each level: client, log and GPUs of its window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from django.db.models import F, Max

from runs.actions.levelcourse import client_cpu, course, decode_lines, steady_of
from runs.caveats.load import LevelFacts
from runs.drivers.gpu_records import IDLE
from runs.metrics.gpu import AT_WORK, GpuWindow, gpu_windows
from runs.metrics.passes import VLLM_SECONDS
from runs.models import Arm, Attempt, GpuSample, Level, LogStream, Sample

JUDGED = (
    "time",
    "gpu",
    "sm_mhz",
    "power_w",
    "power_limit_w",
    "temperature_c",
    "utilization",
    "slowed",
    "strangers",
    "strangers_bytes",
)


def level_facts(
    attempt: Attempt, levels: Sequence[Level], samples: Sequence[Sample]
) -> list[LevelFacts]:
    """One entry for each level, in their order."""
    reached = _fastest_of_arm(attempt.run.arm)
    lines = sum(1 for sample in samples if sample.phase == Sample.Phase.DECODE)
    cpu = client_cpu(attempt, levels)
    done = [level for level in levels if level.state == Level.State.DONE]
    first = min(done, key=lambda level: level.index, default=None)
    return [
        replace(
            _facts(attempt, level, samples, reached),
            **(course(attempt, level, samples, lines) if level.state == Level.State.DONE else {}),
            first=level is first,
            client_cpu=cpu,
        )
        for level in levels
    ]


def _facts(
    attempt: Attempt, level: Level, samples: Sequence[Sample], reached: int | None
) -> LevelFacts:
    cache = level.summary.get("cache") or {}
    steady = steady_of(level)
    lines = decode_lines(samples, steady.get("start"), steady.get("end"))
    log_tps, seconds = tokens_told(lines)
    return LevelFacts(
        concurrency=level.concurrency,
        requests=level.requests,
        failed=level.failed,
        flushed=cache.get("ok"),
        flush_answer=str(cache.get("text") or ""),
        prompt_tokens=level.prompt_tokens,
        cached_tokens=level.cached_tokens,
        client_tps=steady.get("output_tps"),
        log_tps=log_tps,
        log_seconds=seconds,
        log_lines=len(lines),
        gpus=_gpus(attempt, level, reached),
    )


def _gpus(attempt: Attempt, level: Level, reached: int | None) -> tuple[GpuWindow, ...]:
    if level.started is None or level.ended is None:
        return ()
    inside = GpuSample.objects.filter(
        stream__attempt=attempt, time__gte=level.started, time__lte=level.ended
    )
    rows = inside.order_by("seq").values_list(*JUDGED, named=True)
    return gpu_windows(rows.iterator(), level.started, level.ended, reached)


def _fastest_of_arm(arm: Arm) -> int | None:
    """The highest clock of a GPU at work in any launch of the arm so far, MHz."""
    streams = LogStream.objects.filter(attempt__run__arm=arm, role=LogStream.Role.GPU)
    told = GpuSample.objects.filter(stream__in=streams).annotate(idle=F("slowed").bitand(IDLE))
    working = told.exclude(idle__gt=0).exclude(utilization__lt=AT_WORK)
    found: int | None = working.aggregate(most=Max("sm_mhz"))["most"]
    return found


def interval_lines(
    samples: Iterable[Sample], start: float | None, end: float | None
) -> list[Sample]:
    """vLLM's lines whose ten seconds lie within [start, end], epoch seconds; none if not known."""
    if start is None or end is None:
        return []
    return [
        sample
        for sample in samples
        if sample.phase in (Sample.Phase.INTERVAL, Sample.Phase.SPEC_INTERVAL)
        and sample.time is not None
        and start <= sample.time - VLLM_SECONDS
        and sample.time <= end
    ]


def tokens_told(lines: Sequence[Sample]) -> tuple[float | None, float | None]:
    """Tokens per second over the lines, and the seconds from the first to the last of them.

    Each line speaks of the time since the line before it, whatever happened meanwhile; of lines of
    several ranks nothing is told.
    """
    timed = [line for line in lines if line.time is not None and line.output_tps is not None]
    if len({line.rank for line in timed}) != 1 or len(timed) < 2:
        return None, None
    tokens = 0.0
    for before, line in pairwise(timed):
        assert before.time is not None and line.time is not None and line.output_tps is not None
        tokens += line.output_tps * (line.time - before.time)
    seconds = (timed[-1].time or 0.0) - (timed[0].time or 0.0)
    return (tokens / seconds, seconds) if seconds > 0 else (None, None)
