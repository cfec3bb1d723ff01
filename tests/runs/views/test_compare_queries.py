"""What a comparison of six arms asks of the database, with everything on it that people leave."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from runs.actions.compare import keep_comparison, share_comparison
from runs.actions.dismiss import dismiss
from runs.actions.promote import except_run, promote
from runs.models import Arm, Caveat, Level, Sample
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_facts,
    make_host,
    make_level,
    make_measured_run,
    make_note,
    make_person,
    make_run,
    make_samples,
    make_stream,
)

pytestmark = pytest.mark.django_db
BEGAN = 1_780_000_000.0
MOST = 15


@pytest.fixture
def arms() -> list[Arm]:
    """Six arms of two launches, with logs, an earlier campaign, and every kind of remark."""
    make_facts(make_host())
    earlier = make_campaign("An earlier question")
    for tps in (100.0, 101.0, 99.0):
        make_measured_run(make_arm(earlier, f"steps {tps}"), {1: tps, 32: 9 * tps})
    campaign = make_campaign()
    found = [make_arm(campaign, f"steps={n}", steps=n) for n in range(1, 7)]
    for _ in range(2):
        for n, arm in enumerate(found):
            _launch(arm, 100.0 + 10 * n)
    _remarks(found)
    return found


def _launch(arm: Arm, tps: float) -> None:
    run = make_run(arm)
    attempt = make_attempt(run, startup={"max_running_requests": 26})
    stream = make_stream(attempt, lines=90)
    for i, concurrency in enumerate((1, 32)):
        began = BEGAN + 100 * i
        speed = tps * concurrency / (1 + concurrency / 60)
        make_level(attempt, concurrency, speed, started=began, ended=began + 95, accept_len=2.6)
        make_samples(stream, [speed] * 90, began=began + 2, running=concurrency)
    Caveat.objects.create(run=run, slug="greedy-sampling", text="temperature 0", evidence={})


def _remarks(arms: list[Arm]) -> None:
    by = make_person()
    comparison = keep_comparison(arms=arms)
    dismiss(on=comparison, slug="greedy-sampling", reason="We serve so.", by=by)
    share_comparison(comparison=comparison, snapshot={"version": 1}, by=by, seconds=None)
    make_note("On the comparison.", comparison=comparison)
    for arm in arms:
        make_note("On an arm.", arm=arm)
        make_note("On a run.", run=arm.runs.all()[0])
    make_note("On the host.", host=arms[0].host)
    make_note("On a flag.", config_key="--tp")
    elsewhere = make_note("On all greedy runs.", campaign=make_campaign("Another question"))
    promote(note=elsewhere, predicate="workload.temperature == 0", by=by)


def key(arms: list[Arm]) -> str:
    return "~".join(str(arm.pk) for arm in arms)


def asked(member: Client, path: str) -> list[str]:
    member.get(path)  # windows that were never found are found by now
    with CaptureQueriesContext(connection) as queries:
        assert member.get(path).status_code == 200
    return [query["sql"] for query in queries.captured_queries]


def test_six_arms_with_all_remarks_cost_fifteen_queries(member: Client, arms: list[Arm]) -> None:
    told = asked(member, f"/compare/?arms={key(arms)}")
    assert len(told) <= MOST, "\n".join(told)


def test_fewer_arms_cost_one_more_for_the_others_levels(member: Client, arms: list[Arm]) -> None:
    assert len(asked(member, f"/compare/?arms={key(arms[:2])}")) <= MOST + 1


def test_the_api_costs_no_more(member: Client, arms: list[Arm]) -> None:
    assert len(asked(member, f"/api/v1/compare?arms={key(arms)}")) <= MOST


def test_no_sample_is_read(member: Client, arms: list[Arm]) -> None:
    table = Sample._meta.db_table
    for path in (f"/compare/?arms={key(arms)}", f"/api/v1/compare?arms={key(arms)}"):
        assert not [sql for sql in asked(member, path) if table in sql]
    assert all(level.told for level in Level.objects.filter(attempt__run__arm__in=arms))


def test_an_exception_of_a_rule_costs_one_query_for_all_arms(
    member: Client, arms: list[Arm], django_assert_max_num_queries: Any
) -> None:
    rule = make_note("Steps above one.", campaign=make_campaign("A third question"))
    made = promote(note=rule, predicate="config.spec_steps > 1", by=make_person())
    except_run(rule=made, run=arms[2].runs.all()[0], reason="It was broken.", by=make_person())
    member.get(f"/compare/?arms={key(arms)}")
    with django_assert_max_num_queries(MOST + 1):
        assert "Steps above one." in member.get(f"/compare/?arms={key(arms)}").content.decode()
