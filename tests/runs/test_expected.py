"""What a proposal would measure, by what its campaign has measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from runs.actions.import_showcase import import_folder
from runs.expected import expected_of_steps
from runs.models import Arm, State
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_level,
    make_run,
    make_workload,
)

pytestmark = pytest.mark.django_db


def measured(arm: Arm, length: float, tps: float, **run: Any) -> None:
    make_level(make_attempt(make_run(arm, **run)), 16, tps, accept_len=length)


@pytest.fixture
def arms() -> list[Arm]:
    campaign, workload = make_campaign(), make_workload((16,))
    made = [make_arm(campaign, f"steps={n}", steps=n, workload=workload) for n in (1, 2)]
    measured(made[0], 1.80, 2034)
    measured(made[1], 2.45, 2430)
    return made


def test_another_number_of_steps_is_foretold(arms: list[Arm]) -> None:
    (found,) = expected_of_steps(arms[1], 3)
    assert (found.concurrency, found.told.measured) == (16, (1, 2))
    assert found.told.accept_len.value == pytest.approx(2.98, abs=0.02)
    assert found.told.output_tps.low < found.told.output_tps.value < found.told.output_tps.high


def test_arms_that_differ_in_more_than_their_steps_do_not_count(arms: list[Arm]) -> None:
    arms[0].config.flags = {**arms[0].config.flags, "--tp": 8}
    arms[0].config.save()
    assert expected_of_steps(arms[1], 3) == []


def test_another_workload_does_not_count(arms: list[Arm]) -> None:
    arms[0].workload = make_workload((16,), temperature=0.7)
    arms[0].save()
    assert expected_of_steps(arms[1], 3) == []


def test_a_failed_launch_does_not_count(arms: list[Arm]) -> None:
    for run in arms[0].runs.all():
        run.delete()
    measured(arms[0], 1.8, 2034, state=State.FAILED)
    assert expected_of_steps(arms[1], 3) == []


@pytest.mark.parametrize("steps", [0, 17, "3", True, None])
def test_what_is_no_number_of_steps_foretells_nothing(arms: list[Arm], steps: Any) -> None:
    assert expected_of_steps(arms[1], steps) == []


def test_a_tree_of_drafts_foretells_nothing(arms: list[Arm]) -> None:
    for arm in arms:
        arm.config.flags = {**arm.config.flags, "--speculative-eagle-topk": 4}
        arm.config.save()
    assert expected_of_steps(arms[1], 3) == []


def test_the_h200_is_foretold_at_each_of_its_levels() -> None:
    import_folder(folder=Path(settings.BASE_DIR) / "showcase" / "h200-standalone-steps")
    arm = Arm.objects.get(name="steps=3")
    found = expected_of_steps(arm, 4)
    assert [each.concurrency for each in found] == [1, 16, 64]
    # steps=1 was launched with another --cuda-graph-max-bs-prefill: it does not count
    assert {each.told.measured for each in found} == {(2, 3)}
    assert all(each.told.accept_len.value > 3 for each in found)
