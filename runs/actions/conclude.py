"""Judge a finished attempt: levels from log and client together, start-up facts, caveats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from statistics import fmean
from typing import Any

from django.db import transaction

from runs.actions.levelcourse import decode_lines, steady_of
from runs.actions.levelfacts import interval_lines, level_facts
from runs.actions.levelwindow import WINDOW_FIELDS, rows_inside, settle, timed_rows
from runs.caveats.base import Finding
from runs.caveats.gather import gather
from runs.caveats.registry import find_caveats, find_load_caveats, severity_of
from runs.engines import base
from runs.engines.registry import ENGINES
from runs.metrics.acceptance import level_accept_len
from runs.models import Attempt, Caveat, Event, Level, LogStream, Run, Sample

# Of the lines inside a level's window; a rule about single levels needs a few of them.
LEAST_LINES = 5
# kinds of events that count while levels are measured
START, DAMAGED, THROWN_OUT = "server_args", "damaged", ("retraction", "preemption")
MET = (START, DAMAGED, *THROWN_OUT)
# The resolution of a printed time.
STAMP_S = 1.0


@transaction.atomic
def judge_attempt(*, attempt: Attempt) -> None:
    """Safe to repeat: everything here is derived again from samples, levels and events."""
    samples = list(
        Sample.objects.filter(stream__attempt=attempt, stream__role=LogStream.Role.SERVER)
    )
    levels = list(attempt.levels.select_related("attempt__run__arm__config"))
    for level in levels:
        if level.state == Level.State.DONE:
            settle(level, timed_rows(samples, level.started, level.ended))
            level.save(update_fields=WINDOW_FIELDS)
            _measure(level, samples)
    attempt.startup = _startup(attempt)
    attempt.save(update_fields=["startup"])
    _find_caveats(attempt, levels, samples)


def in_window(samples: Iterable[Sample], level: Level) -> list[Sample]:
    """The decode lines that were written while the level was measured."""
    return decode_lines(samples, level.started, level.ended)


def as_record(row: Sample) -> base.Sample:
    """The row as the pure modules know it."""
    return base.Sample(
        phase=row.phase,  # type: ignore[arg-type]
        time=row.printed_time or None,
        rank=row.rank or None,
        running=row.running,
        waiting=row.waiting,
        tokens=row.tokens,
        token_usage=row.token_usage,
        accept_len=row.accept_len,
        accept_rate=row.accept_rate,
        graph=row.graph,
        graph_label=row.extras.get("graph_label"),
        output_tps=row.output_tps,
        input_tps=row.input_tps,
        new_seq=row.new_seq,
        new_tokens=row.new_tokens,
        cached_tokens=row.cached_tokens,
        pending_tokens=row.extras.get("pending_tokens"),
        extras=row.extras,
        offset=row.offset,
        line=row.line,
    )


def measure_by_log(level: Level) -> None:
    """Accept len, running and waiting of one level, from the lines inside its window."""
    inside = Sample.objects.filter(
        stream__attempt=level.attempt_id,
        stream__role=LogStream.Role.SERVER,
        time__gte=level.started,
        time__lte=level.ended,
    )
    _measure(level, list(inside))


def _measure(level: Level, all_samples: Sequence[Sample]) -> None:
    if level.window is not None:
        samples = rows_inside(level, all_samples)
    else:
        samples = in_window(all_samples, level)
        samples = samples or interval_lines(all_samples, level.started, level.ended)
    level.accept_len = level_accept_len(map(as_record, samples))
    level.running_mean = _mean(sample.running for sample in samples)
    level.waiting_mean = _mean(sample.waiting for sample in samples)
    changed = ["accept_len", "running_mean", "waiting_mean"]
    if level.summary.get("cached_tokens") is None:
        told = _cached_by_log(level, all_samples)
        level.cached_tokens, level.prompt_tokens = told or _cached_by_counters(level)
        changed += ["cached_tokens", "prompt_tokens"]
    level.save(update_fields=changed)


def _cached_by_log(level: Level, samples: Iterable[Sample]) -> tuple[int, int] | None:
    """Cached and all prompt tokens of the prefill lines in the level's window, where told."""
    if level.started is None or level.ended is None:
        return None
    told = [
        (sample.cached_tokens, sample.new_tokens)
        for sample in samples
        if sample.phase == Sample.Phase.PREFILL
        and sample.time is not None
        and level.started <= sample.time <= level.ended
    ]
    known = [(cached, new) for cached, new in told if cached is not None and new is not None]
    if not known:
        return None
    cached = sum(each for each, _ in known)
    return cached, cached + sum(new for _, new in known)


def _cached_by_counters(level: Level) -> tuple[int | None, int | None]:
    """The same by the server's counters, from the tool's start to its end, its warm-up included.

    Of an engine without any, what the tool itself counted stays.
    """
    told = level.summary.get("prefix") or {}
    if not told.get("asked"):
        return None, level.summary.get("prompt_tokens")
    return told["cached"], told["asked"]


def _mean(values: Iterable[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _startup(attempt: Attempt) -> dict[str, Any]:
    engine = ENGINES[attempt.run.arm.config.engine]
    rows = Event.objects.filter(attempt=attempt, stream__role=LogStream.Role.SERVER)
    events = [
        base.Event(
            kind=row.kind,
            time=row.at.isoformat(),
            text=row.text,
            data=row.data,
            offset=row.offset or 0,
            line=row.line or 0,
        )
        for row in rows.order_by("offset")
    ]
    return engine.startup_facts(events)


def _find_caveats(attempt: Attempt, levels: Sequence[Level], samples: Sequence[Sample]) -> None:
    run = attempt.run
    measured = [sample for level in levels for sample in in_window(samples, level)]
    met = _met(attempt, levels)
    found = _findings(run, attempt.startup, levels, measured, client_tps=None, **met)
    found += _client_and_log(run, attempt.startup, levels, samples)
    found += find_load_caveats(level_facts(attempt, levels, samples))
    store_findings(run, found)


def _client_and_log(
    run: Run, startup: dict[str, Any], levels: Sequence[Level], samples: Sequence[Sample]
) -> list[Finding]:
    """Where the client's steady rate and the log's lines of the same seconds disagree."""
    for level in levels:
        steady = steady_of(level)
        lines = decode_lines(samples, steady.get("start"), steady.get("end"), margin=STAMP_S)
        if steady.get("output_tps") and len(lines) >= LEAST_LINES:
            found = _findings(run, startup, [level], lines, client_tps=steady["output_tps"])
            gaps = [finding for finding in found if finding.slug == "client-log-gap"]
            if gaps:
                return gaps
    return []


def _findings(
    run: Run,
    startup: dict[str, Any],
    levels: Sequence[Level],
    samples: Sequence[Sample],
    client_tps: float | None,
    **met: int,
) -> list[Finding]:
    facts = gather(
        flags=run.arm.config.flags,
        effective=startup or run.arm.config.effective,
        workload=known(run.arm.workload.settings()),
        levels=[level.concurrency for level in levels],
        samples=[as_record(sample) for sample in samples],
        client_tps=client_tps,
        env=run.arm.config.env,
        **met,
    )
    return find_caveats(facts)


def _met(attempt: Attempt, levels: Sequence[Level]) -> dict[str, int]:
    """What the server's log tells of the time from the first level's start to the last one's end:
    requests thrown out, start-ups, lines that could not be read."""
    begun = [level.started for level in levels if level.started is not None]
    ended = [level.ended for level in levels if level.ended is not None]
    if not begun or not ended:
        return {}
    span = [datetime.fromtimestamp(moment, UTC) for moment in (min(begun), max(ended))]
    told = Event.objects.filter(
        attempt=attempt, stream__role=LogStream.Role.SERVER, at__range=span, kind__in=MET
    )
    kinds = list(told.values_list("kind", "data"))
    thrown = [data.get("requests") for kind, data in kinds if kind in THROWN_OUT]
    return {
        "retracted": sum(n if isinstance(n, int) and n else 1 for n in thrown),
        "restarts": sum(kind == START for kind, _ in kinds),
        "damaged": sum(kind == DAMAGED for kind, _ in kinds),
    }


def known(settings: dict[str, Any]) -> dict[str, Any]:
    """What somebody set; a setting that stands nowhere is unknown and not "no"."""
    return {name: value for name, value in settings.items() if value is not None}


def store_findings(run: Run, found: Iterable[Finding]) -> None:
    """Make the run's caveats these; of one slug the first finding is kept.

    A caveat that is found again keeps its row and the moment at which it was first found.
    """
    unique = {finding.slug: finding for finding in reversed(list(found))}
    run.caveats.exclude(slug__in=unique).delete()
    rows = [
        Caveat(
            run=run,
            slug=f.slug,
            severity=severity_of(f),
            metric=f.metric,
            text=f.text,
            evidence=f.evidence,
        )
        for f in reversed(unique.values())
    ]
    Caveat.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["run", "slug"],
        update_fields=["severity", "metric", "text", "evidence"],
    )
