"""Campaigns: the list, one with its grid, its conclusion."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from runs.models import Campaign, Caveat, Level, State
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_level,
    make_measured_run,
    make_note,
    make_run,
    make_samples,
    make_stream,
    make_workload,
)
from tests.signed_in import text


@pytest.fixture
def campaign(db: None) -> Campaign:
    made = make_campaign("Does a second draft step pay?")
    workload = make_workload()
    one = make_arm(made, "steps=1", steps=1, workload=workload)
    two = make_arm(made, "steps=2", steps=2, workload=workload)
    for run_of, values in ((one, {1: 122, 4: 400, 16: 1213}), (two, {1: 183, 4: 543, 16: 1530})):
        for _ in range(3):
            make_measured_run(run_of, values)
    return made


def page_of(client: Client, campaign: Campaign, query: str = "") -> str:
    answer = client.get(campaign.get_absolute_url() + query)
    assert answer.status_code == 200
    return text(answer)


def test_the_question_is_the_title_and_cells_hold_value_and_change(
    member: Client, campaign: Campaign
) -> None:
    page = page_of(member, campaign)
    assert "Does a second draft step pay?</h1>" in page
    assert re.search(r">1,530</span>", page)
    assert "+36 %" in page
    assert "baseline" in page


def test_the_other_metric_is_one_click_away(member: Client, campaign: Campaign) -> None:
    assert 'href="?metric=user"' in page_of(member, campaign)
    assert "tok/s per user, mean of launches" in page_of(member, campaign, "?metric=user")


def test_of_seven_arms_the_button_offers_the_first_six(member: Client, campaign: Campaign) -> None:
    workload = campaign.arms.first().workload
    for steps in range(3, 7):
        make_arm(campaign, f"steps={steps}", workload=workload)
    assert "All 6 arms" in page_of(member, campaign)
    make_arm(campaign, "steps=7", workload=workload)
    assert "The first 6 arms" in page_of(member, campaign)


def test_arms_can_be_compared_and_run_again(member: Client, campaign: Campaign) -> None:
    one, two = campaign.arms.all()
    page = page_of(member, campaign)
    assert f"/compare/?arms={one.pk}~{two.pk}" in page
    assert f"/arms/{two.pk}/rerun/" in page


def test_a_failed_run_stays_with_its_reason(member: Client, campaign: Campaign) -> None:
    make_run(
        campaign.arms.first(), state=State.FAILED, reason_text="NoneType in graph <b>replay</b>"
    )
    page = page_of(member, campaign)
    assert "Failed, kept" in page
    assert "NoneType in graph &lt;b&gt;replay&lt;/b&gt;" in page


def test_it_asks_again_only_while_something_is_unfinished(
    member: Client, campaign: Campaign
) -> None:
    assert "hx-trigger" not in page_of(member, campaign).split('id="results"')[1]
    make_run(campaign.arms.first(), state=State.QUEUED)
    assert 'hx-trigger="every 3s"' in page_of(member, campaign).split('id="results"')[1]


def test_provisional_values_are_set_in_italics(member: Client, campaign: Campaign) -> None:
    attempt = make_attempt(make_run(campaign.arms.first(), state=State.MEASURING))
    make_level(attempt, 1, None, state=Level.State.RUNNING, requests=24, done=12)
    page = page_of(member, campaign)
    assert 'class="v provisional"' in page
    assert "launch 4: 12 of 24 requests" in page


def test_an_empty_campaign_says_so(member: Client, db: None) -> None:
    page = page_of(member, make_campaign("Nothing yet?"))
    assert "Nothing is measured yet." in page
    assert "has no level yet" in page


def test_a_campaign_that_is_not_there_is_not_found(member: Client) -> None:
    assert member.get("/campaigns/999/").status_code == 404


def test_a_caveat_is_told_of_each_arm_with_what_was_measured_there(
    member: Client, campaign: Campaign
) -> None:
    for arm, limit in zip(campaign.arms.all(), (26, 21), strict=True):
        run = arm.runs.first() or make_run(arm)
        Caveat.objects.create(run=run, slug="running-capped", text=f"At most {limit} run.")
    page = page_of(member, campaign)
    assert page.count("Running capped") == 1
    first, second = page.index("At most 26 run."), page.index("At most 21 run.")
    assert "steps=1" in page[first:second] and "steps=2" not in page[first:second]
    assert "steps=2" in page[second : second + 600]


def test_a_failure_is_told_by_its_sentence_and_not_by_the_end_of_its_log(
    member: Client, campaign: Campaign
) -> None:
    make_run(
        campaign.arms.first(),
        state=State.FAILED,
        reason_text="It ran out of memory.\nLast lines of the server log:\nTraceback: x",
    )
    page = page_of(member, campaign)
    assert "It ran out of memory." in page and "Traceback: x" not in page


def test_caveats_and_notes_stand_beside_it(member: Client, campaign: Campaign) -> None:
    run = campaign.runs.first()
    Caveat.objects.create(run=run, slug="greedy-sampling", text="Temperature 0 flatters.")
    make_note("On the arm.", arm=campaign.arms.first())
    make_note("On the run.", run=run)
    page = page_of(member, campaign)
    for words in ("Greedy sampling", "Temperature 0 flatters.", "On the arm.", "On the run."):
        assert words in page


def test_what_an_import_told_is_shown(member: Client, db: None) -> None:
    campaign = make_campaign(facts={"smoke_test": {"passed": True, "expected": "345"}})
    run = make_run(make_arm(campaign, "NEXTN"), imported=True)
    stream = make_stream(make_attempt(run), damaged=1)
    make_samples(stream, [71.44, 63.82], accept_len=1.95)
    page = page_of(member, campaign)
    for words in ("smoke test passed", "71.44", "63.82", "1 damaged line,"):
        assert words in page


def test_its_conclusion_is_written_and_stays_a_draft(member: Client, campaign: Campaign) -> None:
    address = f"/campaigns/{campaign.pk}/conclusion/"
    answer = member.post(address, {"conclusion": "A second step **pays**."})
    assert answer.status_code == 302
    page = page_of(member, campaign)
    assert "A second step <strong>pays</strong>." in page
    assert "draft" in page


def test_its_conclusion_is_edited_in_place(member: Client, campaign: Campaign) -> None:
    address = f"/campaigns/{campaign.pk}/conclusion/"
    form = text(member.get(address, headers={"HX-Request": "true"}))
    assert "<textarea" in form
    assert "<html" not in form
    saved = member.post(address, {"conclusion": "It pays."}, headers={"HX-Request": "true"})
    assert "It pays." in text(saved)
    assert "<textarea" not in text(saved)


def test_a_conclusion_that_is_too_long_comes_back_as_typed(
    member: Client, campaign: Campaign
) -> None:
    typed = "x" * 4001
    answer = member.post(
        f"/campaigns/{campaign.pk}/conclusion/",
        {"conclusion": typed},
        headers={"HX-Request": "true"},
    )
    assert answer.status_code == 422
    assert typed in text(answer)
    assert "under 4,000 characters" in text(answer)


def test_more_runs_take_no_more_queries(
    member: Client, campaign: Campaign, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for arm in campaign.arms.all():
        make_note("x", arm=arm)
        for _ in range(4):
            make_measured_run(arm, {1: 100, 4: 200, 16: 300})
    with django_assert_num_queries(14):
        page_of(member, campaign)


def test_the_list_shows_every_campaign_with_its_headline(
    member: Client, campaign: Campaign
) -> None:
    make_campaign("An empty one?")
    page = text(member.get("/campaigns/"))
    assert "steps=2 leads at 1, 4 and 16" in page
    assert "An empty one?" in page


def test_the_list_is_cut_into_pages(member: Client, db: None) -> None:
    for i in range(26):
        make_campaign(f"Question {i}?")
    first = text(member.get("/campaigns/"))
    assert "Question 25?" in first
    assert "Question 0?" not in first
    assert "Question 0?" in text(member.get("/campaigns/?page=2"))
