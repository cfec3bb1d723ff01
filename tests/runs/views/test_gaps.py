"""“Measure what is missing” on a comparison: just those runs, after a look at them."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils import timezone

from runs.models import Arm, Campaign, Reason, Run, State
from runs.stopping import take_looks
from tests.factories import make_arm, make_campaign, make_host, make_measured_run, make_workload
from tests.runs.test_stopping import measure, planned
from tests.signed_in import text

pytestmark = pytest.mark.django_db


def key(campaign: Campaign) -> str:
    return "~".join(str(arm.pk) for arm in campaign.arms.order_by("position")[:2])


def compare(member: Client, arms: str) -> str:
    return text(member.get(f"/compare/?arms={arms}"))


def confirm(member: Client, arms: str) -> str:
    """The page that lists the runs."""
    return text(member.get(f"/compare/missing/?arms={arms}"))


def press(member: Client, arms: str, page: str) -> str:
    """The button, twice as by a double click; where it leads."""
    mark = re.search(r'name="once" value="([^"]+)"', page)
    assert mark
    told = {"arms": arms, "once": mark[1]}
    first, second = (member.post("/compare/missing/", told) for _ in range(2))
    assert first["Location"] == second["Location"]
    return str(first["Location"])


def queued() -> list[tuple[str, int]]:
    runs = Run.objects.filter(state=State.QUEUED).select_related("arm")
    return [(run.arm.name, run.launch) for run in runs.order_by("campaign", "position")]


def test_a_failed_launch_is_made_again(member: Client) -> None:
    campaign = planned(repeats=3, looks=1)
    bad = {"state": State.FAILED, "reason": Reason.SERVER_DIED, "ended_at": timezone.now()}
    campaign.runs.filter(launch=2, arm__name="steps=2").update(**bad)
    measure(campaign, 3, 1.0, 1.2)
    arms = key(campaign)
    assert "launch 2 did not succeed: once more, as planned" in compare(member, arms)
    page = confirm(member, arms)
    assert "about 2 min" in page and "Queue 1 launch<" in page
    assert press(member, arms, page) == campaign.get_absolute_url()
    assert queued() == [("steps=2", 2)]
    assert "Measure what is missing" not in compare(member, arms)


def test_single_launches_get_the_repeats_of_a_verdict_interleaved(member: Client) -> None:
    campaign = planned(repeats=1)
    measure(campaign, 1, 1.0, 1.2)
    arms = key(campaign)
    assert "1 of 3 launches: too few for a verdict" in compare(member, arms)
    press(member, arms, confirm(member, arms))
    assert queued() == [("steps=1", 2), ("steps=2", 2), ("steps=2", 3), ("steps=1", 3)]


def test_after_the_last_look_repeats_are_a_comparison_of_their_own(member: Client) -> None:
    campaign = planned(repeats=3, looks=1)
    measure(campaign, 3, 1.0, 1.012)
    take_looks()
    arms = key(campaign)
    page = compare(member, arms)
    assert "repeats begin a new comparison that is judged by itself" in page
    page = confirm(member, arms)
    assert "judged by these launches alone" in page
    address = press(member, arms, page)
    other = Campaign.objects.latest("pk")
    assert address == other.get_absolute_url() and other.confirms == campaign
    launches = other.looks[-1]
    assert launches > 3 and other.runs.count() == 2 * launches
    assert [arm.config_id for arm in other.arms.all()] == [
        arm.config_id for arm in campaign.arms.all()
    ]
    assert "judged by its own launches alone" in text(member.get(address))
    assert f"campaign {other.pk}" in text(member.get(campaign.get_absolute_url()))


def test_a_launch_that_was_added_after_the_last_look_is_said(member: Client) -> None:
    campaign = planned(repeats=3, looks=1)
    measure(campaign, 3, 1.0, 1.2)
    take_looks()
    arm = campaign.arms.get(name="steps=2")
    assert "may be chance" in text(member.get(f"/arms/{arm.pk}/rerun/"))
    make_measured_run(arm, {4: 480.0, 16: 1920.0})
    page = compare(member, key(campaign))
    assert "1 launch came after the plan’s last look and is counted" in page
    assert "Measure what is missing" in page


def test_a_planned_launch_that_is_made_again_after_the_last_look_is_said(member: Client) -> None:
    campaign = planned(repeats=3, looks=1)
    bad = {"state": State.FAILED, "reason": Reason.SERVER_DIED, "ended_at": timezone.now()}
    campaign.runs.filter(launch=2, arm__name="steps=2").update(**bad)
    measure(campaign, 3, 1.0, 1.2)
    take_looks()
    arms = key(campaign)
    assert "came after" not in compare(member, arms)
    press(member, arms, confirm(member, arms))
    measure(campaign, 3, 1.0, 1.2)
    assert "1 launch came after the plan’s last look and is counted" in compare(member, arms)


def test_an_arm_that_began_after_the_last_look_was_never_looked_at(member: Client) -> None:
    campaign = planned(repeats=3, looks=1)
    measure(campaign, 3, 1.0, 1.2)
    take_looks()
    base = campaign.arms.get(name="steps=1")
    later = make_arm(campaign, "steps=3", steps=3, workload=base.workload, host=base.host)
    for launch in (1, 2, 3):
        make_measured_run(later, {4: 480.0, 16: 1920.0}, launch=launch)
    assert "came after" not in compare(member, f"{base.pk}~{later.pk}")


def test_what_is_being_confirmed_is_not_confirmed_once_more(member: Client) -> None:
    campaign = planned(repeats=3, looks=1)
    measure(campaign, 3, 1.0, 1.012)
    take_looks()
    arms = key(campaign)
    press(member, arms, confirm(member, arms))
    other = Campaign.objects.latest("pk")
    page = compare(member, arms)
    assert f"Campaign {other.pk} was begun to confirm this. Its word counts" in page
    assert "Measure what is missing" not in page
    assert member.post("/compare/missing/", {"arms": arms}).status_code == 422
    assert Campaign.objects.latest("pk") == other


def test_of_a_very_long_name_the_levels_stay(member: Client) -> None:
    one, other = two_campaigns()
    Arm.objects.filter(pk=one.pk).update(name="n" * 120)
    make_measured_run(one, {1: 60.0, 4: 400.0, 16: 1600.0})
    make_measured_run(other, {4: 480.0, 64: 3000.0})
    arms = f"{one.pk}~{other.pk}"
    press(member, arms, confirm(member, arms))
    names = [name for name, _ in queued() if name.startswith("nnn")]
    assert names and all(len(name) == 120 and name.endswith(", at 64") for name in names)


def two_campaigns(**load: object) -> tuple[Arm, Arm]:
    """Arms whose workloads have one level in common; 24 requests each."""
    host = make_host()
    one = make_arm(make_campaign(), workload=make_workload([1, 4, 16]), host=host)
    other = make_arm(
        make_campaign(), "steps=2", steps=2, workload=make_workload([4, 64], **load), host=host
    )
    for _ in range(2):
        make_measured_run(one, {1: 100.0, 4: 300.0, 16: 900.0})
        make_measured_run(other, {4: 330.0, 64: 1500.0})
    return one, other


def test_levels_that_only_one_arm_has_are_measured_in_an_arm_beside(member: Client) -> None:
    one, other = two_campaigns()
    arms = f"{one.pk}~{other.pk}"
    page = confirm(member, arms)
    assert "No level 1 and 16: the same server with only these levels" in page
    assert "No level 64" in page
    press(member, arms, page)
    assert queued() == [
        ("steps=1, at 64", 1), ("steps=1, at 64", 2),
        ("steps=2, at 1 16", 1), ("steps=2, at 1 16", 2),
    ]  # fmt: skip
    added = Arm.objects.get(name="steps=2, at 1 16")
    assert (added.config_id, added.campaign_id) == (other.config_id, other.campaign_id)
    assert (added.workload.levels, added.workload.requests_per_level) == ([1, 16], [24, 24])
    for _ in range(2):
        make_measured_run(added, {1: 110.0, 16: 990.0})
    assert "2 of 3 levels matched" in compare(member, f"{one.pk}~{added.pk}")


def test_no_level_fills_a_gap_between_two_questions(member: Client) -> None:
    one, other = two_campaigns(max_tokens=64)
    page = confirm(member, f"{one.pk}~{other.pk}")
    assert "its workload differs in max tokens" in page
    assert "Queue" not in page


def test_a_settled_comparison_lacks_nothing(member: Client) -> None:
    campaign = planned(repeats=3, looks=1)
    measure(campaign, 3, 1.0, 1.2)
    take_looks()
    arms = key(campaign)
    assert "Measure what is missing" not in compare(member, arms)
    assert "Nothing is missing that a launch from here would fill." in confirm(member, arms)
    assert member.post("/compare/missing/", {"arms": arms}).status_code == 422
    assert queued() == []


def test_the_look_stands_beside_the_verdict(member: Client) -> None:
    campaign = planned()
    measure(campaign, 3, 1.0, 1.2)
    take_looks()
    page = compare(member, key(campaign))
    assert "Look 1 of 3, after 3 launches of each arm: the plan was stopped early" in page
    assert "98 % interval" in page


@pytest.mark.parametrize("arms", ["", "1", "999~998", "nonsense"])
def test_it_needs_two_arms(member: Client, arms: str) -> None:
    assert member.get(f"/compare/missing/?arms={arms}").status_code == 404


def test_a_stranger_sees_and_starts_nothing(stranger: Client) -> None:
    campaign = planned(repeats=1)
    for answer in (
        stranger.get(f"/compare/missing/?arms={key(campaign)}"),
        stranger.post("/compare/missing/", {"arms": key(campaign)}),
        stranger.post(f"{campaign.get_absolute_url()}missing/"),
    ):
        assert answer.status_code == 302 and "/sign-in/" in answer["Location"]
    assert len(queued()) == 2
