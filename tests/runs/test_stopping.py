"""Looks of a plan: taken once, in time, and they end what is settled."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from runs.actions.launch import NewArm, launch_campaign, queue_run
from runs.comparisons import compare_arms
from runs.execution import ledger
from runs.models import Arm, Campaign, Reason, Run, ServerConfig, State
from runs.stopping import plan_arms_of, take_look, take_looks
from tests.factories import make_attempt, make_host, make_level, make_workload

pytestmark = pytest.mark.django_db


def planned(repeats: int = 7, looks: int = 3, arms: int = 2) -> Campaign:
    made = [
        NewArm(f"steps={n}", ServerConfig(engine="sglang", model="/m", flags={"--tp": n}))
        for n in range(1, arms + 1)
    ]
    return launch_campaign(
        question="Does it pay?",
        arms=made,
        workload=make_workload([4, 16]),
        host=make_host(),
        repeats=repeats,
        looks=looks,
        by=None,
    )


def measured(run: Run, tps: float) -> None:
    """The run has ended well, 90 s after its start."""
    attempt = make_attempt(run)
    for concurrency in (4, 16):
        make_level(attempt, concurrency, tps * concurrency)
    began = timezone.now() + timedelta(seconds=run.position)
    run.state, run.started_at, run.ended_at = State.SUCCEEDED, began, began + timedelta(seconds=90)
    run.save()


def measure(campaign: Campaign, upto: int, *ratios: float) -> None:
    """Queued launches up to this one, a per mille apart from each other."""
    for run in campaign.runs.filter(state=State.QUEUED, launch__lte=upto).select_related("arm"):
        measured(run, 100 * ratios[run.arm.position] * (1 + run.launch / 1000))


def states(campaign: Campaign, launch: int) -> set[str]:
    return set(campaign.runs.filter(launch=launch).values_list("state", flat=True))


def test_a_settled_plan_is_stopped_and_says_why() -> None:
    campaign = planned()
    measure(campaign, 3, 1.0, 1.2)
    assert take_looks() == 1
    campaign.refresh_from_db()
    (look,) = campaign.looked
    assert (look["launches"], look["decisions"], look["stopped"]) == (3, ["better"], True)
    assert "steps=2 is better than steps=1: +20 %" in look["text"]
    assert (look["cancelled"], look["saved_s"]) == (8, pytest.approx(8 * 90))
    assert campaign.plan_is_over
    for launch in (4, 5, 6, 7):
        assert states(campaign, launch) == {State.CANCELLED}
    stopped = campaign.runs.filter(launch=4)[0]
    assert stopped.reason == Reason.STOPPED_EARLY
    assert stopped.reason_text.startswith("stopped early at look 1 of 3: steps=2 is better")
    assert stopped.events.get().actor == "the plan"


def test_what_is_not_settled_goes_on_to_the_next_look_and_to_the_end() -> None:
    campaign = planned()
    for n, (upto, next_look) in enumerate(((3, 5), (5, 7), (7, None)), start=1):
        measure(campaign, upto, 1.0, 1.012)
        assert take_looks() == 1
        campaign.refresh_from_db()
        assert (len(campaign.looked), campaign.next_look) == (n, next_look)
    assert not any(look["stopped"] for look in campaign.looked)
    assert campaign.plan_is_over
    assert not campaign.runs.exclude(state=State.SUCCEEDED).exists()


def test_a_look_is_taken_once_and_not_before_its_launches_have_ended() -> None:
    campaign = planned()
    measure(campaign, 2, 1.0, 1.2)
    assert take_looks() == 0
    measure(campaign, 3, 1.0, 1.2)
    before = Campaign.objects.get(pk=campaign.pk)
    assert take_look(campaign)
    assert not take_look(before)
    assert len(Campaign.objects.get(pk=campaign.pk).looked) == 1


def test_launches_behind_a_look_wait_for_it() -> None:
    campaign = planned()
    measure(campaign, 3, 1.0, 1.012)
    assert ledger.next_queued() == []
    take_looks()
    (run,) = ledger.next_queued()
    assert (run.launch, run.arm.name) == (4, "steps=2")


def test_a_failed_launch_holds_up_no_look_and_all_failed_settle_nothing() -> None:
    campaign = planned()
    now = timezone.now()
    bad = {"state": State.FAILED, "reason": Reason.SERVER_DIED, "ended_at": now}
    campaign.runs.filter(launch__lte=3, arm__name="steps=2").update(**bad)
    measure(campaign, 3, 1.0, 1.2)
    assert take_looks() == 1
    (look,) = Campaign.objects.get(pk=campaign.pk).looked
    assert look["decisions"] == ["go on"]
    assert "a launch of each has to succeed" in look["text"]


def test_an_arm_that_is_rerun_as_often_does_not_become_one_of_the_plan() -> None:
    campaign = planned(repeats=3, looks=1)
    one, two = campaign.arms.order_by("position")
    extra = Arm.objects.create(
        campaign=campaign,
        position=2,
        name="steps=3",
        config=two.config,
        workload=two.workload,
        host=two.host,
        derived_from=two,
    )
    for launch in (1, 2, 3):
        queue_run(arm=extra, launch=launch, by=None)
    assert plan_arms_of(campaign) == [one, two]


def test_all_arms_have_to_be_settled() -> None:
    campaign = planned(arms=3)
    measure(campaign, 3, 1.0, 1.2, 1.025)
    take_looks()
    campaign.refresh_from_db()
    assert campaign.looked[0]["decisions"] == ["better", "go on"]
    assert campaign.next_look == 5
    measure(campaign, 5, 1.0, 1.2, 1.025)
    take_looks()
    campaign.refresh_from_db()
    assert campaign.looked[1]["decisions"] == ["better", "better"]
    assert campaign.plan_is_over


def test_the_verdict_asks_of_each_look_what_the_plan_allows() -> None:
    campaign = planned()
    measure(campaign, 3, 1.0, 1.2)
    (pair,) = compare_arms(plan_arms_of(campaign)).pairs
    assert pair.judged.judgement.alpha == pytest.approx(0.0221)
    assert "98 % interval" in pair.sentence


def test_a_plan_of_one_look_is_never_stopped() -> None:
    campaign = planned(repeats=3, looks=1)
    assert (campaign.looks, campaign.next_look) == ([3], 3)
    measure(campaign, 3, 1.0, 1.2)
    take_looks()
    campaign.refresh_from_db()
    assert campaign.plan_is_over
    assert not campaign.looked[0]["stopped"]
    (pair,) = compare_arms(plan_arms_of(campaign)).pairs
    assert pair.judged.judgement.alpha == pytest.approx(0.05)


def test_a_single_launch_has_no_look() -> None:
    campaign = planned(repeats=1)
    assert (campaign.looks, campaign.next_look, campaign.plan_is_over) == ([], None, False)


def test_nothing_that_cannot_be_judged_holds_up_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    campaign = planned()
    measure(campaign, 3, 1.0, 1.2)

    def fails(arms: object) -> None:
        raise ValueError("a figure of zero")

    monkeypatch.setattr("runs.stopping.compare_arms", fails)
    assert take_looks() == 1
    campaign.refresh_from_db()
    assert (campaign.looked[0]["decisions"], campaign.next_look) == (["go on"], 5)
