"""Launch what a plan or a comparison lacks: failed launches, levels, repeats, a confirmation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Max

from people.models import Person
from runs.actions.launch import Refused, open_like, queue_blocks, queue_run
from runs.actions.rerun import LONGEST_NAME, changed_workload, free_name
from runs.metrics.blocks import interleaved
from runs.metrics.looking import planned_looks
from runs.models import Arm, Campaign, Run, State


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
        and not each[-1].needless
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


def hold_campaigns(arms: Sequence[Arm]) -> None:
    """Whoever else fills their gaps waits for the transaction, and finds them filled."""
    held = Campaign.objects.select_for_update().filter(pk__in={arm.campaign_id for arm in arms})
    list(held.order_by("pk"))


@dataclass(frozen=True)
class Wanted:
    """More launches of an arm: some that failed, or so many more, of all levels or of some.

    ``levels`` maps concurrency to requests; none means those of the arm's own workload.
    """

    arm: Arm
    launches: int
    levels: Mapping[int, int] = field(default_factory=dict)
    retries: Sequence[Run] = ()


@transaction.atomic
def measure_wanted(*, wanted: Sequence[Wanted], by: Person | None) -> list[Run]:
    """Queue all of it, interleaved as far as it is alike.

    A level that the arm's workload has not got is another workload, so it is measured in an arm
    beside it that differs in nothing else.
    """
    if not wanted:
        raise Refused("Nothing is missing any more.")
    queued = [
        queue_run(arm=run.arm, launch=run.launch, by=by, rerun_of=run)
        for each in wanted
        for run in sorted(each.retries, key=lambda run: run.position)
    ]
    rest = [
        (narrower_arm(each.arm, each.levels) if each.levels else each.arm, each.launches)
        for each in wanted
        if not each.retries
    ]
    after = {arm.pk: arm.runs.aggregate(last=Max("launch"))["last"] or 0 for arm, _ in rest}
    for n, block in enumerate(interleaved(rest, max((n for _, n in rest), default=0)), start=1):
        queued += [
            queue_run(arm=arm, launch=after[arm.pk] + n, by=by)
            for arm, launches in block
            if n <= launches
        ]
    return queued


def narrower_arm(arm: Arm, levels: Mapping[int, int]) -> Arm:
    """The arm beside this one that measures only these levels; made if there is none."""
    load = changed_workload(
        arm.workload,
        {"levels": list(levels), "requests_per_level": list(levels.values())},
    )
    beside = arm.campaign.arms.filter(config=arm.config, host=arm.host)
    for other in beside.select_related("workload", "config", "host", "campaign"):
        if other.workload.levels == load.levels and other.workload.settings() == load.settings():
            return other
    load.save()
    return Arm.objects.create(
        campaign=arm.campaign,
        position=arm.campaign.arms.count(),
        name=_with_levels(arm, levels),
        config=arm.config,
        workload=load,
        host=arm.host,
        derived_from=arm,
    )


def _with_levels(arm: Arm, levels: Iterable[int]) -> str:
    """ "steps=2, at 64": of a name that is too long the levels stay."""
    tail = f", at {' '.join(map(str, levels))}"[:LONGEST_NAME]
    return free_name(arm.campaign, arm.name[: LONGEST_NAME - len(tail)] + tail)


@transaction.atomic
def start_confirmation(
    *, arms: Sequence[tuple[Arm, str]], launches: int, by: Person | None
) -> Campaign:
    """A campaign of the same arms that is judged by itself; ``arms`` are told by their names.

    Launches that are added after a plan's last look until a word appears would find one by chance.
    """
    first = arms[0][0].campaign
    looks = planned_looks(launches, 1)
    campaign = open_like(
        first,
        question=f"Confirm: {first.question}",
        by=by,
        confirms=first,
        looks=looks,
        next_look=looks[0] if looks else None,
    )
    made = [
        Arm.objects.create(
            campaign=campaign,
            position=position,
            name=free_name(campaign, name),
            config=arm.config,
            workload=arm.workload,
            host=arm.host,
            derived_from=arm,
        )
        for position, (arm, name) in enumerate(arms)
    ]
    queue_blocks(arms=made, launches=launches, by=by)
    return campaign
