"""Runs and their points by the API."""

from __future__ import annotations

import pytest
from django.test import Client

from runs.models import Run
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_level,
    make_run,
    make_samples,
    make_stream,
)

pytestmark = pytest.mark.django_db


def run_with_points(n: int = 5) -> Run:
    run = make_run(make_arm(make_campaign()))
    attempt = make_attempt(run)
    make_level(attempt, 4, 400.0, accept_len=1.9)
    make_samples(make_stream(attempt), [100.0 + i for i in range(n)])
    return run


def test_it_tells_state_and_levels(member: Client) -> None:
    run = run_with_points()
    told = member.get(f"/api/v1/runs/{run.pk}").json()
    assert (told["state"], told["reason"], told["arm"]) == ("succeeded", "", "steps=1")
    level = told["levels"][0]
    assert (level["concurrency"], level["output_tps"], level["accept_len"]) == (4, 400.0, 1.9)
    assert level["ttft_s"] is None


def test_it_gives_the_points_behind_a_number(member: Client) -> None:
    run = run_with_points()
    told = member.get(f"/api/v1/runs/{run.pk}/points?after=3").json()
    assert (told["seq0"], told["n"], told["seq"], told["more"]) == (4, 2, [4, 5], False)
    assert told["cols"]["output_tps"] == [103.0, 104.0]
    assert told["cols"]["phase"] == ["decode", "decode"]


def test_pages_of_points_join_without_a_gap_or_a_repeat(member: Client) -> None:
    run = run_with_points(7)
    seen: list[int] = []
    for _ in range(10):
        after = seen[-1] if seen else 0
        told = member.get(f"/api/v1/runs/{run.pk}/points?after={after}&max=3").json()
        seen += told["seq"]
        if not told["more"]:
            break
    assert seen == [1, 2, 3, 4, 5, 6, 7]


def test_a_thousand_points_cost_no_more_queries_than_one(
    member: Client, django_assert_max_num_queries: object
) -> None:
    run = run_with_points(1000)
    with django_assert_max_num_queries(6):  # type: ignore[operator]
        assert member.get(f"/api/v1/runs/{run.pk}/points").json()["n"] == 1000


def test_a_run_that_has_not_begun_has_no_points(member: Client) -> None:
    run = make_run(make_arm(make_campaign()), state="queued")
    told = member.get(f"/api/v1/runs/{run.pk}/points").json()
    assert (told["n"], told["seq0"], told["attempt"]) == (0, None, 0)


@pytest.mark.parametrize("query", ["after=-1", "max=0", "max=99999999", "after=x"])
def test_it_refuses_a_number_that_cannot_be_right(member: Client, query: str) -> None:
    run = run_with_points()
    assert member.get(f"/api/v1/runs/{run.pk}/points?{query}").status_code == 422


def test_an_unknown_run_is_not_found(member: Client) -> None:
    assert member.get("/api/v1/runs/4711").status_code == 404


def test_a_stranger_gets_nothing(stranger: Client) -> None:
    run = run_with_points()
    for path in (f"/api/v1/runs/{run.pk}", f"/api/v1/runs/{run.pk}/points", "/api/v1/openapi.json"):
        assert stranger.get(path).status_code in (302, 401, 403)


def test_it_describes_itself(member: Client) -> None:
    paths = member.get("/api/v1/openapi.json").json()["paths"]
    assert "/api/v1/runs/{run_id}/points" in paths


def test_the_api_is_told_by_its_schema_alone(member: Client) -> None:
    """The library's page of documentation would load scripts from elsewhere."""
    assert member.get("/api/v1/openapi.json").status_code == 200
    assert member.get("/api/v1/docs").status_code == 404
