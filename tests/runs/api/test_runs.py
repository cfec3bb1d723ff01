"""Runs and their points by the API."""

from __future__ import annotations

import pytest
from django.test import Client

from runs.models import Outline, Run, Sample
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


def test_a_long_run_comes_in_few_points_with_its_spikes(member: Client) -> None:
    run = run_with_points(30_000)
    Sample.objects.filter(seq=12_345).update(output_tps=1e6)
    path = f"/api/v1/runs/{run.pk}/points"
    told = member.get(f"{path}?thin=2000").json()
    assert told["n"] <= 2000 and told["thinned"] and not told["more"]
    assert (told["total"], told["last"], told["seq"][-1]) == (30_000, 30_000, 30_000)
    assert max(told["cols"]["output_tps"]) == 1e6
    at = told["cols"]["output_tps"].index(1e6)
    assert (told["seq"][at], told["offset"][at]) == (12_345, 12_345 * 200)  # a sample, not a mean
    begin, end = told["t"][at] - 50, told["t"][at] + 50
    zoomed = member.get(f"{path}?thin=2000&from={begin}&to={end}").json()
    assert (zoomed["n"], zoomed["thinned"]) == (101, False)  # every sample of a short time


def test_a_stored_outline_tells_what_a_new_one_tells(member: Client) -> None:
    run = run_with_points(30_000)
    path = f"/api/v1/runs/{run.pk}/points?thin=4000"
    first, again = member.get(path).json(), member.get(path).json()
    assert Outline.objects.get().upto > 20_000
    assert again == first
    stream = run.attempts.get().streams.get()
    make_samples(stream, [5e6], began=2e9)
    later = member.get(path).json()
    assert (later["total"], later["last"], later["cols"]["output_tps"][-1]) == (30_001, 30_001, 5e6)


def test_nothing_falls_between_the_few_points_and_the_live_ones(member: Client) -> None:
    run = run_with_points(9000)
    told = member.get(f"/api/v1/runs/{run.pk}/points?thin=1000").json()
    make_samples(run.attempts.get().streams.get(), [1.0, 2.0])
    behind = member.get(f"/api/v1/runs/{run.pk}/points?after={told['last']}").json()
    assert behind["seq"] == [9001, 9002]


def test_a_short_run_is_given_whole_and_one_not_begun_is_empty(member: Client) -> None:
    told = member.get(f"/api/v1/runs/{run_with_points(50).pk}/points?thin=4000").json()
    assert (told["n"], told["total"], told["thinned"]) == (50, 50, False)
    run = make_run(make_arm(make_campaign()), state="queued")
    told = member.get(f"/api/v1/runs/{run.pk}/points?thin=4000").json()
    assert (told["n"], told["last"], told["thinned"]) == (0, 0, False)


@pytest.mark.parametrize("query", ["thin=1", "thin=9999999", "from=nan", "to=1e999", "from=x"])
def test_it_refuses_a_range_that_cannot_be_right(member: Client, query: str) -> None:
    assert member.get(f"/api/v1/runs/{run_with_points().pk}/points?{query}").status_code == 422


def test_every_sample_comes_as_csv(member: Client) -> None:
    run = run_with_points(4500)
    Sample.objects.filter(seq=2).update(rank="=1+1")
    answer = member.get(f"/runs/{run.pk}/samples.csv")
    lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert len(lines) == 4501
    assert lines[0].startswith("seq,time,printed_time,phase")
    assert "'=1+1" in lines[2]
    assert lines[-1].startswith("4500,")
