"""Launch again what a plan lacks: its launches that ended badly, in the order of its blocks."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from people.models import Person
from runs.actions.launch import Refused, queue_run
from runs.models import Campaign, Reason, Run, State


def missing_launches(runs: Sequence[Run]) -> list[Run]:
    """The latest try of every launch that neither succeeded nor is under way.

    ``runs`` are a campaign's, by position; the first try's place is the launch's place in the plan.
    Imports cannot be tried again, and what an early stop made needless is not missing.
    """
    tries: dict[tuple[int, int], list[Run]] = {}
    for run in runs:
        if not run.imported:
            tries.setdefault((run.arm_id, run.launch), []).append(run)
    return [
        each[-1]
        for each in tries.values()
        if all(run.is_final and run.state != State.SUCCEEDED for run in each)
        and each[-1].reason != Reason.STOPPED_EARLY
    ]


@transaction.atomic
def run_missing(*, campaign: Campaign, by: Person | None) -> list[Run]:
    """Queue one more try of each missing launch; a second call finds them queued."""
    Campaign.objects.select_for_update().get(pk=campaign.pk)
    runs = campaign.runs.select_related("arm__config", "arm__workload", "arm__host", "campaign")
    missing = missing_launches(list(runs))
    if not missing:
        raise Refused("Nothing is missing: every planned launch succeeded, or is under way.")
    for run in missing:
        if not run.arm.host.can_connect:
            raise Refused(f"{run.arm.host} cannot be reached: no address, or no confirmed key.")
    return [queue_run(arm=run.arm, launch=run.launch, by=by, rerun_of=run) for run in missing]
