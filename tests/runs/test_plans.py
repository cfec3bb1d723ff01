"""A plan as people see it before: blocks, looks and minutes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from hosts.models import Host
from runs.expected import expected_seconds
from runs.models import Workload
from runs.plans import planned_blocks
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_host,
    make_level,
    make_run,
    make_workload,
)


def test_blocks_name_their_order_their_minutes_and_their_look() -> None:
    plan = planned_blocks("AB", launches=5, looks=2, seconds=100.0)
    assert ["".join(block.arms) for block in plan.blocks] == ["AB", "BA", "AB", "BA", "AB"]
    assert [block.look for block in plan.blocks] == [None, None, 1, None, 2]
    assert {block.minutes for block in plan.blocks} == {4}
    assert (plan.minutes, plan.may_stop) == (17, True)


def test_what_nobody_knows_is_unknown() -> None:
    plan = planned_blocks("AB", launches=3, looks=1, seconds=None)
    assert {block.minutes for block in plan.blocks} == {None}
    assert (plan.minutes, plan.may_stop) == (None, False)


def test_one_arm_has_blocks_and_no_look() -> None:
    plan = planned_blocks("A", launches=3, looks=3, seconds=60.0)
    assert [block.look for block in plan.blocks] == [None, None, None]


def launched(workload: Workload, host: Host) -> None:
    """A launch of 100 s of which its levels, 24 requests each, took 30 and 48 s."""
    now = timezone.now()
    arm = make_arm(make_campaign(), workload=workload, host=host)
    run = make_run(arm, started_at=now - timedelta(seconds=100), ended_at=now)
    attempt = make_attempt(run)
    make_level(attempt, 4, 100.0, started=0.0, ended=30.0)
    make_level(attempt, 16, 300.0, started=40.0, ended=88.0)


@pytest.mark.django_db
def test_launches_of_the_same_shape_tell_the_time() -> None:
    host, load = make_host(), make_workload([4, 16])
    launched(load, host)
    assert expected_seconds(load, host) == pytest.approx(100)


@pytest.mark.django_db
def test_other_numbers_of_requests_are_put_together_from_levels() -> None:
    host = make_host()
    launched(make_workload([4, 16]), host)
    half = Workload(levels=[16], requests_per_level=12, max_tokens=256)
    assert expected_seconds(half, host) == pytest.approx(22 + 48 / 2)
    each = Workload(levels=[16, 4], requests_per_level=[24, 48], max_tokens=256)
    assert expected_seconds(each, host) == pytest.approx(22 + 48 + 60)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("levels", "requests", "tokens"), [([64], 24, 256), ([16], None, 256), ([16], 24, 128)]
)
def test_a_level_never_measured_there_leaves_it_unknown(
    levels: list[int], requests: int | None, tokens: int
) -> None:
    host = make_host()
    launched(make_workload([4, 16]), host)
    load = Workload(levels=levels, requests_per_level=requests, max_tokens=tokens)
    assert expected_seconds(load, host) is None
    assert expected_seconds(load, make_host("other")) is None
