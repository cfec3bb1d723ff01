"""The lines of imported logs: often all that is known of an arm, and few enough to be shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from django.db.models import Exists, OuterRef, Q

from runs.metrics.shown import number
from runs.models import Level, LogStream, Run, Sample

EXCERPT = 50  # samples; a log with more of them is a whole one
SHOWN = 6  # lines of one run; its own page has all of them


@dataclass(frozen=True)
class ImportedLog:
    """The first lines of a run's server log, and how many of its lines were damaged."""

    run: Run
    samples: tuple[Sample, ...]
    more: int
    damaged: int


def imported_lines(runs: Sequence[Run]) -> list[ImportedLog]:
    """Logs of imported runs, in two queries; runs of our own are not asked about.

    Where there are levels a whole log is left to the run's page: its first lines say little.
    """
    imported = {run.pk: run for run in runs if run.imported}
    if not imported:
        return []
    levels = Level.objects.filter(attempt=OuterRef("attempt"))
    streams = (
        LogStream.objects.filter(attempt__run__in=list(imported), role=LogStream.Role.SERVER)
        .exclude(Q(next_seq__gt=EXCERPT + 1) & Exists(levels))
        .select_related("attempt")
    )
    first = Sample.objects.filter(stream__in=list(streams), seq__lte=SHOWN)
    by_stream: dict[int, list[Sample]] = {}
    for sample in first.order_by("stream", "seq"):
        by_stream.setdefault(sample.stream_id, []).append(sample)
    return [
        ImportedLog(
            run=imported[stream.attempt.run_id],
            samples=tuple(by_stream.get(stream.pk, ())),
            more=max(0, stream.next_seq - 1 - SHOWN),
            damaged=stream.damaged,
        )
        for stream in streams
    ]


def lines_only(logs: Sequence[ImportedLog]) -> str:
    """What a campaign says whose runs gave log lines and no level; empty without any."""
    for log in logs:
        known = [s.accept_len for s in log.samples if s.accept_len is not None]
        if known and not log.more:
            lines = f"{len(known)} decode line" + "s" * (len(known) != 1)
            return f"{log.run.arm}: accept len {number(fmean(known), 2)} in {lines}. No level."
    if not logs:
        return ""
    total = sum(len(log.samples) + log.more for log in logs)
    return f"{total:,} log line{'s' * (total != 1)}, no level."
