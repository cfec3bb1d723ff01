"""What an arm without a level still tells: its server's log, by how many requests ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Avg, Count
from django.urls import reverse

from runs.actions.launch import why_no_load, why_not_launchable
from runs.models import Arm, LogStream, Sample

STEPS = 8  # numbers of running requests to show; those with most lines
LARGE = 200_000  # samples; a larger log is left to the run's page


@dataclass(frozen=True)
class Step:
    """Means over the log lines with so many requests running."""

    running: int
    lines: int
    output_tps: float
    accept_len: float | None


@dataclass(frozen=True)
class ArmTold:
    """``cannot`` says why nothing can be launched of it; else ``rerun`` is where that begins."""

    arm: Arm
    steps: list[Step]
    cannot: str
    rerun: str


def arms_told(arms: Sequence[Arm]) -> list[ArmTold]:
    """The arms in their order, in one query."""
    lines = (
        Sample.objects.filter(
            stream__attempt__run__arm__in=list(arms),
            stream__role=LogStream.Role.SERVER,
            stream__next_seq__lte=LARGE,
            phase__in=[Sample.Phase.DECODE, Sample.Phase.INTERVAL],
            output_tps__gt=0,
            running__gt=0,
        )
        .values("stream__attempt__run__arm", "running")
        .annotate(lines=Count("pk"), tps=Avg("output_tps"), accept=Avg("accept_len"))
    )
    found: dict[int, list[Step]] = {}
    for row in lines:
        step = Step(row["running"] or 0, row["lines"], row["tps"], row["accept"])
        found.setdefault(row["stream__attempt__run__arm"], []).append(step)
    return [_told(arm, found.get(arm.pk, [])) for arm in arms]


def _told(arm: Arm, steps: list[Step]) -> ArmTold:
    most = sorted(steps, key=lambda step: -step.lines)[:STEPS]
    cannot = why_not_launchable(arm.config)
    if why_no_load(arm.workload):  # the form has a load of its own to begin with
        where = f"{reverse('campaign-new')}?like={arm.pk}"
    else:
        where = reverse("arm-rerun", args=[arm.pk])
    return ArmTold(arm, sorted(most, key=lambda step: step.running), cannot, where)
