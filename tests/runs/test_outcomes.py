"""An ended counter-experiment answers the caveat that asked, once."""

from __future__ import annotations

import pytest

from runs.actions.compare import keep_comparison
from runs.models import Arm, Campaign, CaveatTest, Run, State
from runs.outcomes import settle, settle_tests
from tests.factories import make_arm, make_campaign, make_measured_run, make_run, make_workload

pytestmark = pytest.mark.django_db
PLAN = {
    "words": "temperature 0.7",
    "arms": "one",
    "metric": "output_tps",
    "confirmed_by": "worse",
    "doubted_ratio": 1.5,
}


@pytest.fixture
def asked() -> CaveatTest:
    """A test whose campaign has two arms and no run yet."""
    first = make_campaign()
    comparison = keep_comparison(arms=[make_arm(first), make_arm(first, "steps=2", steps=2)])
    campaign = make_campaign("Does it matter?")
    make_arm(campaign, "as it is")
    make_arm(campaign, "temperature 0.7", workload=make_workload(temperature=0.7))
    return CaveatTest.objects.create(
        comparison=comparison, slug="greedy-sampling", campaign=campaign, plan=PLAN
    )


def measure(campaign: Campaign, ratio: float, spread: float = 0.002) -> None:
    one, two = campaign.arms.order_by("position")
    for n in range(2):
        tps = 100.0 * (1 + spread * n)
        make_measured_run(one, {1: tps, 4: 3 * tps})
        make_measured_run(two, {1: ratio * tps, 4: 3 * ratio * tps})


@pytest.mark.parametrize(
    ("ratio", "outcome", "words"),
    [
        (0.75, "confirmed", "\u221225 % output tok/s"),
        (1.25, "refuted", "+25 % output tok/s"),
        (0.98, "cannot-tell", "temperature 0.7"),
    ],
)
def test_the_verdict_decides_and_gives_the_size(
    asked: CaveatTest, ratio: float, outcome: str, words: str
) -> None:
    measure(asked.campaign, ratio)
    assert settle_tests() == 1
    asked.refresh_from_db()
    assert (asked.outcome, asked.ended_at is None) == (outcome, False)
    assert words in asked.text
    assert asked.evidence["ratio"] == pytest.approx(ratio)


def test_it_waits_for_the_last_launch_and_answers_once(asked: CaveatTest) -> None:
    assert not settle(asked)  # nothing was queued yet
    measure(asked.campaign, 0.75)
    last = make_run(asked.campaign.arms.first(), state=State.MEASURING)
    assert settle_tests() == 0
    Run.objects.filter(pk=last.pk).delete()
    assert settle_tests() == 1
    assert settle_tests() == 0 and not settle(asked)


def test_a_campaign_that_failed_cannot_tell(asked: CaveatTest) -> None:
    for arm in asked.campaign.arms.all():
        make_run(arm, state=State.FAILED)
    settle_tests()
    asked.refresh_from_db()
    assert asked.outcome == "cannot-tell" and "not every arm" in asked.text


@pytest.mark.parametrize(
    ("ratio", "outcome"), [(1.5, "refuted"), (1.02, "cannot-tell"), (1.2, "confirmed")]
)
def test_all_arms_once_more_ask_whether_the_figure_stands(
    asked: CaveatTest, ratio: float, outcome: str
) -> None:
    asked.plan = {**PLAN, "arms": "all", "words": "again, interleaved"}
    asked.save()
    measure(asked.campaign, ratio)
    settle_tests()
    asked.refresh_from_db()
    assert asked.outcome == outcome, asked.text


def test_what_is_tested_does_not_forbid_its_own_test(asked: CaveatTest) -> None:
    asked.slug = "random-tokens"
    asked.plan = {**PLAN, "confirmed_by": "any"}
    asked.save()
    measure(asked.campaign, 0.75)
    arm: Arm = asked.campaign.arms.first()
    for run in arm.runs.all():
        run.caveats.create(slug="random-tokens", severity="block", text="Random ids.")
    settle_tests()
    asked.refresh_from_db()
    assert asked.outcome == "confirmed"
