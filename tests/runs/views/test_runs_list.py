"""All runs, filtered."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from runs.models import State
from tests.factories import make_arm, make_campaign, make_host, make_run
from tests.signed_in import text


@pytest.fixture
def three(db: None) -> None:
    arm = make_arm(make_campaign("Which steps pay?"), "steps=2")
    make_run(arm)
    make_run(arm, state=State.FAILED)
    make_run(
        make_arm(make_campaign("Another?"), "plain", host=make_host("llm-three")),
        state=State.QUEUED,
        waiting_for="llm-three is held by run 7",
    )


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 3),
        ("state=unfinished", 1),
        ("state=failed", 1),
        ("state=succeeded", 1),
        ("state=nonsense", 3),
        ("host=llm-three", 1),
        ("text=which", 2),
        ("text=steps=2", 2),
    ],
)
def test_it_shows_the_runs_that_were_asked_for(
    member: Client, three: None, query: str, count: int
) -> None:
    page = text(member.get(f"/runs/?{query}"))
    assert f"{count} run{'s' * (count != 1)}</span>" in page


def test_it_says_why_a_run_waits_and_why_one_failed(member: Client, three: None) -> None:
    page = text(member.get("/runs/"))
    assert "llm-three is held by run 7" in page
    assert "the server died" in page


def test_a_filter_that_hides_all_is_named(member: Client, three: None) -> None:
    page = text(member.get("/runs/?text=nowhere"))
    assert "No run matches." in page
    assert 'value="nowhere"' in page


def test_an_empty_list_says_where_runs_come_from(member: Client) -> None:
    assert "No run yet." in text(member.get("/runs/"))


def test_more_runs_take_no_more_queries(
    member: Client, three: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    arm = make_arm(make_campaign("More?"))
    for _ in range(10):
        make_run(arm)
    with django_assert_num_queries(6):
        member.get("/runs/")
