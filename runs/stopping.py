"""Looks of a campaign's plan: what each decides, and an early stop of what is settled."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from runs.actions.move import NotAllowed, move
from runs.comparisons import Pair, compare_arms
from runs.expected import run_seconds
from runs.metrics.looking import Decision, decide, may_stop
from runs.metrics.sentence import change_words, interval_words
from runs.models import Arm, Campaign, Reason, Run, State
from runs.models.states import FINAL

log = logging.getLogger(__name__)

ACTOR = "the plan"


def take_looks() -> int:
    """Look at every campaign whose launches up to its next look have ended; how many that were."""
    return sum(take_look(campaign) for campaign in Campaign.objects.exclude(next_look=None))


@transaction.atomic
def take_look(campaign: Campaign) -> bool:
    """Take the next look, once; False if it is not due. A settled plan is stopped here."""
    held = Campaign.objects.select_for_update().get(pk=campaign.pk)
    if held.next_look is None:
        return False
    runs = held.runs.filter(arm__in=plan_arms_of(held), launch__lte=held.next_look)
    if not runs.exists() or runs.exclude(state__in=FINAL).exists():
        return False
    n, of = len(held.looked) + 1, len(held.looks)
    decisions, said = _judged(held)
    stops = may_stop(decisions) and n < of
    cancelled, saved = (
        _stop(held, f"stopped early at look {n} of {of}: {said}") if stops else (0, 0)
    )
    held.looked = [
        *held.looked,
        {
            "launches": held.next_look,
            "decisions": [str(each) for each in decisions],
            "text": said,
            "stopped": stops,
            "cancelled": cancelled,
            "saved_s": saved,
            "at": timezone.now().isoformat(),
        },
    ]
    held.next_look = None if stops or n == of else held.looks[n]
    held.save(update_fields=["looked", "next_look"])
    log.info("%s: look %d of %d: %s", held, n, of, said)
    return True


def plan_arms_of(campaign: Campaign) -> list[Arm]:
    """The arms that the plan launches to its end; a later rerun's arm is none of them.

    Nor does it become one by as many launches: it is derived from an arm of its own campaign.
    """
    last = campaign.looks[-1]
    planned = Run.objects.filter(arm=OuterRef("pk"), launch=last)
    arms = campaign.arms.select_related("campaign", "config", "workload", "host")
    own = arms.exclude(derived_from__campaign=campaign)
    return list(own.filter(Exists(planned)).order_by("position"))


def _judged(campaign: Campaign) -> tuple[list[Decision], str]:
    """Each arm against the baseline, by the verdict that the page shows, and the same in words."""
    arms = plan_arms_of(campaign)
    try:
        with transaction.atomic():  # what the database refuses must not spoil the look itself
            pairs = compare_arms(arms).pairs
    except Exception:  # nothing that cannot be judged may hold up a plan, or other campaigns
        log.exception("%s could not be judged at a look; its plan goes on", campaign)
        return [Decision.GO_ON], "it could not be judged, so it goes on"
    decisions = [
        Decision.GO_ON if pair.provisional else decide(pair.judged.judgement) for pair in pairs
    ]
    said = [_words(pair, each) for pair, each in zip(pairs, decisions, strict=True)]
    return decisions, "; ".join(said)


def _words(pair: Pair, decision: Decision) -> str:
    """ "steps=2 is better than steps=1: +12 %, +9 to +15 %"."""
    names, found = (pair.other.name, pair.base.name), pair.judged.judgement.sweep
    size = ", ".join(each for each in (change_words(found), interval_words(found)) if each)
    tail = f": {size}" if found.judged and size else ""
    if pair.provisional:
        return f"{names[0]} cannot be told from {names[1]} yet: a launch of each has to succeed"
    if decision is Decision.GO_ON:
        return f"{names[0]} against {names[1]} is not settled ({found.text}){tail}"
    if decision is Decision.EQUIVALENT:
        return f"between {names[0]} and {names[1]} is no difference that matters{tail}"
    return f"{names[0]} is {decision} than {names[1]}{tail}"


def _stop(campaign: Campaign, why: str) -> tuple[int, float | None]:
    """Cancel what the plan still holds in the queue; how many, and the seconds that saves."""
    rest = campaign.runs.filter(
        arm__in=plan_arms_of(campaign),
        state=State.QUEUED,
        launch__gt=campaign.next_look,
        launch__lte=campaign.looks[-1],
    ).select_related("arm__workload", "host")
    stopped = [run for run in rest if _cancelled(run, why)]
    return len(stopped), _seconds(stopped)


def _cancelled(run: Run, why: str) -> bool:
    told: dict[str, Any] = {"reason": Reason.STOPPED_EARLY, "text": why}
    try:
        move(
            run, allowed_from=[State.QUEUED], to=State.CANCELLED, epoch=run.claim_epoch,
            actor=ACTOR, **told,
        )  # fmt: skip
    except NotAllowed:
        log.info("%s was begun or stopped a moment before", run)
        return False
    return True


def _seconds(runs: Sequence[Run]) -> float | None:
    """What they would have taken, from experience; None if that is not known of all."""
    each = [run_seconds(run.arm.workload, run.host) for run in runs]
    known = [seconds for seconds in each if seconds is not None]
    return sum(known) if len(known) == len(each) else None
