"""The only way from a request to an object: what a person may see, they get here, or a 404.

Roles follow in a later issue; until then whoever is signed in is a member of the one team.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from uuid import UUID

from django.db.models import Exists, OuterRef, Q
from django.http import Http404
from django.shortcuts import get_object_or_404

from hosts.models import Host, HostKey
from people.models import Person
from runs.models import Arm, Campaign, Dismissal, Import, Note, NoteRule, Run, ShareLink

NUMBER = re.compile(r"[0-9]{1,18}")  # of a row; more digits fit no database


def get_campaign(pk: int) -> Campaign:
    return get_object_or_404(Campaign.objects.prefetch_related("arms"), pk=pk)


def get_run(pk: int) -> Run:
    return get_object_or_404(Run.objects.for_lists(), pk=pk)


def get_run_by_uid(uid: UUID) -> Run:
    return get_object_or_404(Run.objects.for_lists(), uid=uid)


def get_arm(pk: int) -> Arm:
    return get_object_or_404(
        Arm.objects.select_related("campaign", "config", "workload", "host"), pk=pk
    )


class NoSuchArms(Http404):
    """A key that names arms which are not there; ``arms`` are those of it that are."""

    def __init__(self, words: str, arms: Sequence[Arm] = ()) -> None:
        super().__init__(words)
        self.words, self.arms = words, arms


def _with_neighbours(wanted: Sequence[int]) -> list[Arm]:
    """Arms and the other arms of their campaigns, in one query; the campaigns know them all.

    ``reachable`` of each is what its host's ``can_connect`` says.
    """
    campaigns = Arm.objects.filter(pk__in=wanted).values("campaign")
    keys = HostKey.objects.filter(host=OuterRef("host")).exclude(host__address="")
    found = Arm.objects.filter(campaign__in=campaigns).annotate(reachable=Exists(keys))
    by_campaign: dict[int, list[Arm]] = {}
    for arm in found.select_related("campaign", "config", "workload", "host"):
        by_campaign.setdefault(arm.campaign_id, []).append(arm)
    for arms in by_campaign.values():
        arms[0].campaign.whole_arms = arms
        for each in arms:
            each.campaign = arms[0].campaign
    return [arm for arms in by_campaign.values() for arm in arms]


def get_arms(key: str) -> Sequence[Arm]:
    """The arms of "3~4", in that order, none twice; of any campaigns. Raises NoSuchArms."""
    parts = key.split("~")
    if not all(NUMBER.fullmatch(part) for part in parts):
        raise NoSuchArms("Arms are named by their numbers with ~ between them, such as 3~4.")
    wanted = [int(part) for part in parts[:6]]
    if len(set(wanted)) != len(wanted):
        raise NoSuchArms("An arm is not compared with itself.")
    kept = {arm.pk: arm for arm in _with_neighbours(wanted)}
    arms = [kept[pk] for pk in wanted if pk in kept]
    missing = [str(pk) for pk in wanted if pk not in kept]
    if missing:
        one = f"There is no arm {missing[0]}."
        raise NoSuchArms(
            one if len(missing) == 1 else f"There are no arms {' and '.join(missing)}.", arms
        )
    return arms


def get_note(pk: int) -> Note:
    things = Note.objects.newest_first().select_related("arm__campaign", "run__arm")
    return get_object_or_404(things, pk=pk)


def get_note_rule(pk: int) -> NoteRule:
    return get_object_or_404(NoteRule.objects.select_related("note"), pk=pk)


def get_host(pk: int) -> Host:
    return get_object_or_404(Host, pk=pk)


def get_dismissal(pk: int) -> Dismissal:
    return get_object_or_404(Dismissal.objects.select_related("run", "comparison"), pk=pk)


def get_import(pk: int, by: Person) -> Import:
    """A person's own; that a campaign is read again is everybody's business."""
    own = Q(person=by) | Q(kind=Import.Kind.AGAIN)
    return get_object_or_404(Import.objects.select_related("campaign").filter(own), pk=pk)


def get_share_link(pk: int) -> ShareLink:
    return get_object_or_404(ShareLink.objects.select_related("comparison"), pk=pk)
