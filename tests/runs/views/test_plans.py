"""Plans on the pages: looks that were taken, and launches that are missing."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils import timezone

from runs.models import Campaign, Reason, Run, State
from runs.stopping import take_looks
from tests.factories import make_arm, make_campaign, make_host, make_measured_run, make_run
from tests.runs.test_stopping import measure, planned
from tests.signed_in import text


def fail(campaign: Campaign, launch: int, arm: str, state: State = State.FAILED) -> None:
    bad = {"state": state, "reason": Reason.SERVER_DIED, "ended_at": timezone.now()}
    campaign.runs.filter(launch=launch, arm__name=arm).update(**bad)


def names(campaign: Campaign) -> list[tuple[str, int]]:
    queued = campaign.runs.filter(state=State.QUEUED).order_by("position")
    return [(run.arm.name, run.launch) for run in queued.select_related("arm")]


def mark(page: str) -> str:
    found = re.search(r'campaigns/\d+/missing/.*?name="once" value="([^"]+)"', page, re.DOTALL)
    assert found
    return found[1]


def test_a_stopped_campaign_says_at_which_look_and_what_it_saved(member: Client) -> None:
    campaign = planned()
    measure(campaign, 3, 1.0, 1.2)
    take_looks()
    page = text(member.get(campaign.get_absolute_url()))
    assert "Look 1 of 3, after 3 launches of each arm: steps=2 is better than steps=1" in page
    assert "8 launches not made, about 12 min saved" in page
    assert "Run what is missing" not in page
    assert "Failed, kept" not in page  # nothing failed: their turn never came


def test_what_is_missing_is_run_in_the_order_of_the_blocks_and_once(member: Client) -> None:
    campaign = planned(repeats=3, looks=1)
    fail(campaign, 1, "steps=2")
    fail(campaign, 2, "steps=2", State.LOST)
    fail(campaign, 2, "steps=1", State.CANCELLED)
    measure(campaign, 3, 1.0, 1.2)
    address = campaign.get_absolute_url()
    page = text(member.get(address))
    assert "3 planned launches did not succeed." in page
    assert "about 5 min" in page
    form = {"once": mark(page)}
    for _ in range(2):
        answer = member.post(f"{address}missing/", form)
        assert answer["Location"] == address
    # block 2 ran backwards
    assert names(campaign) == [("steps=2", 1), ("steps=2", 2), ("steps=1", 2)]
    assert all(run.rerun_of is not None for run in campaign.runs.filter(state=State.QUEUED))
    page = text(member.get(address))
    assert "Run what is missing" not in page


def test_another_form_finds_nothing_missing_any_more(member: Client) -> None:
    campaign = planned(repeats=2, looks=1)
    fail(campaign, 1, "steps=1")
    for key in ("one", "two"):
        member.post(f"{campaign.get_absolute_url()}missing/", {"once": key})
    assert len(names(campaign)) == 4
    assert "Nothing is missing" in text(member.get(campaign.get_absolute_url()))


def test_it_says_why_nothing_can_be_tried_again(member: Client) -> None:
    host = make_host("away", confirmed=False)
    arm = make_arm(make_campaign(), host=host)
    make_run(arm, state=State.FAILED)
    page = text(member.get(arm.campaign.get_absolute_url()))
    assert "1 planned launch did not succeed." in page
    assert "away cannot be reached from here." in page
    member.post(f"{arm.campaign.get_absolute_url()}missing/")
    assert Run.objects.count() == 1


@pytest.mark.parametrize("values", [{"imported": True}, {"state": State.SUCCEEDED}])
def test_imports_and_what_succeeded_are_not_missing(
    member: Client, values: dict[str, object]
) -> None:
    arm = make_arm(make_campaign())
    make_measured_run(arm, {4: 100.0}, **{"state": State.FAILED, **values})
    assert "did not succeed" not in text(member.get(arm.campaign.get_absolute_url()))
