"""The only way from a request to an object: what a person may see, they get here, or a 404.

Roles follow in a later issue; until then whoever is signed in is a member of the one team.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q
from django.http import Http404
from django.shortcuts import get_object_or_404

from hosts.models import Host
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


def get_arms(key: str) -> Sequence[Arm]:
    """The arms of "3~4", in that order, none twice; of any campaigns. Raises NoSuchArms."""
    parts = key.split("~")
    if not all(NUMBER.fullmatch(part) for part in parts):
        raise NoSuchArms("Arms are named by their numbers with ~ between them, such as 3~4.")
    wanted = [int(part) for part in parts[:6]]
    if len(set(wanted)) != len(wanted):
        raise NoSuchArms("An arm is not compared with itself.")
    found = Arm.objects.select_related("campaign", "config", "workload", "host")
    kept = {arm.pk: arm for arm in found.filter(pk__in=wanted)}
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
