"""The first page: what runs now, on which hosts, and what the latest campaigns say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from hosts.models import Host
from runs.grid import METRICS, Grid, build, headline, load
from runs.grid.spark import Line, spark
from runs.models import Attempt, Campaign, Level, LogStream, Note, Run, Sample
from runs.views.parts import answer, live_part

CAMPAIGNS = 6
QUEUED = 4
NOTES = 4


@dataclass(frozen=True)
class Now:
    """A run that goes on, its levels and the last decode line of its server."""

    run: Run
    levels: tuple[Level, ...]
    sample: Sample | None


@dataclass(frozen=True)
class Summary:
    """A campaign in one row: what it says, its curves, and how far it is."""

    campaign: Campaign
    grid: Grid
    words: str
    lines: tuple[Line, ...]

    @property
    def simulated(self) -> bool:
        return any(column.arm.host.simulated for column in self.grid.columns)


@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    part = live_part(request, "runs/_overview.html", _what_is(), id="now", live=True)
    if alone := answer(request, part):
        return alone
    notes = Note.objects.newest_first()[:NOTES]
    return render(request, "runs/overview.html", {"now": part.html, "latest_notes": notes})


def _what_is() -> dict[str, Any]:
    unfinished = list(Run.objects.for_lists().unfinished().order_by("queued_at", "position"))
    active = [run for run in unfinished if run.is_active]
    queued = [run for run in unfinished if not run.is_active]
    return {
        "now": going_on(active),
        "queued": queued[:QUEUED],
        "queued_count": len(queued),
        "more_queued": max(0, len(queued) - QUEUED),
        "hosts": list(Host.objects.for_overview()),
        "summaries": summaries(Campaign.objects.whole().order_by("-opened_at", "-pk")[:CAMPAIGNS]),
    }


def going_on(runs: Sequence[Run]) -> list[Now]:
    """Levels and last sample of each run's last attempt, in three queries."""
    if not runs:
        return []
    tries = Attempt.objects.filter(run__in=runs).order_by("n").values_list("run_id", "pk")
    attempt_of = dict(tries)
    levels: dict[int, list[Level]] = {}
    for level in Level.objects.filter(attempt__in=attempt_of.values()).defer("summary"):
        levels.setdefault(level.attempt_id, []).append(level)
    samples = _last_samples(list(attempt_of.values()))
    return [
        Now(
            run=run,
            levels=tuple(levels.get(attempt_of.get(run.pk, 0), ())),
            sample=samples.get(attempt_of.get(run.pk, 0)),
        )
        for run in runs
    ]


def _last_samples(attempts: Sequence[int]) -> dict[int, Sample]:
    speeds = (Sample.Phase.DECODE, Sample.Phase.INTERVAL)
    newest = Sample.objects.filter(stream=OuterRef("pk"), phase__in=speeds)
    streams = LogStream.objects.filter(
        attempt__in=attempts, role=LogStream.Role.SERVER
    ).values_list(Subquery(newest.order_by("-seq").values("pk")[:1]), flat=True)
    found = Sample.objects.filter(pk__in=streams).select_related("stream")
    return {sample.stream.attempt_id: sample for sample in found}


def summaries(campaigns: Iterable[Campaign]) -> list[Summary]:
    shown = []
    for data in load(list(campaigns)):
        grid = build(data, METRICS["output"])
        shown.append(Summary(data.campaign, grid, headline(grid), tuple(spark(grid))))
    return shown
