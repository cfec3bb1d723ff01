"""A prediction is kept as it was said, and held against what the run measured."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from runs.foretold import foretold, track_record
from runs.models import Arm, Run, State
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_host,
    make_level,
    make_run,
    make_workload,
)
from tests.signed_in import text

pytestmark = pytest.mark.django_db

STEPS = "--speculative-num-steps"


@pytest.fixture
def arm() -> Arm:
    """Steps=2 beside steps=1, both measured at 16 clients."""
    make_host("llm-two")
    campaign, workload = make_campaign(), make_workload((16,))
    made = [make_arm(campaign, f"steps={n}", steps=n, workload=workload) for n in (1, 2)]
    for each, length, tps in zip(made, (1.80, 2.45), (2034, 2430), strict=True):
        make_level(make_attempt(make_run(each)), 16, tps, accept_len=length)
    return made[1]


def confirmed(member: Client, arm: Arm, *words: str) -> Run:
    member.post(f"/arms/{arm.pk}/rerun/", {"set": [f"{STEPS}=3", *words], "host": "llm-two"})
    return Run.objects.latest("pk")


def measured(run: Run, tps: float, length: float) -> None:
    run.state, run.ended_at = State.SUCCEEDED, run.queued_at
    run.save()
    make_level(make_attempt(run), 16, tps, accept_len=length)


def test_what_was_said_is_kept_with_the_run_and_shown_before_it_has_measured(
    member: Client, arm: Arm
) -> None:
    run = confirmed(member, arm)
    (row,) = run.predicted
    assert (row["concurrency"], row["measured"]) == (16, [1, 2])
    page = text(member.get(run.get_absolute_url()))
    assert "Foretold and measured" in page and "not measured yet" in page
    assert "from arms with 1 and 2 steps" in page


@pytest.mark.parametrize(
    ("tps", "length", "words"),
    [(2700, 2.98, ("as foretold",) * 2), (4000, 2.0, ("above", "below"))],
)
def test_what_was_measured_stands_beside_it(
    member: Client, arm: Arm, tps: float, length: float, words: tuple[str, str]
) -> None:
    run = confirmed(member, arm)
    measured(run, tps, length)
    (row,) = foretold(run, list(run.attempts.get().levels.all()))
    assert (row.output_tps.word, row.accept_len.word) == words
    answer: dict[str, Any] = member.get(f"/api/v1/runs/{run.pk}").json()
    (told,) = answer["predicted"]
    assert told["output_tps"]["observed"] == tps
    assert told["output_tps"]["low"] < told["output_tps"]["value"] < told["output_tps"]["high"]


def test_a_later_measurement_changes_nothing_of_what_was_said(member: Client, arm: Arm) -> None:
    run = confirmed(member, arm)
    before = run.predicted
    make_level(make_attempt(make_run(arm, launch=2)), 16, 9000, accept_len=2.9)
    assert Run.objects.get(pk=run.pk).predicted == before


def test_nothing_is_foretold_of_two_changes_at_once(member: Client, arm: Arm) -> None:
    run = confirmed(member, arm, "temperature=0.7")
    assert run.predicted == []
    assert "Foretold" not in text(member.get(run.get_absolute_url()))


def test_the_next_proposal_says_how_often_predictions_held(member: Client, arm: Arm) -> None:
    assert track_record().levels == 0
    measured(confirmed(member, arm), 2700, 2.98)
    assert (track_record().levels, track_record().inside) == (1, 1)
    page = text(member.get(f"/arms/{arm.pk}/rerun/?set={STEPS}=4"))
    assert "lay in its interval at 1 of 1 levels" in page
