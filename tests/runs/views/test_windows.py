"""The windows on a run's page: shown, moved by a plain form, put back, and told by the API."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.urls import reverse

from runs.actions.conclude import judge_attempt
from runs.execution.findings import note_clock
from runs.models import Level, Run, State, WindowMove
from runs.runpage import marks, run_page
from tests.factories import make_arm, make_campaign, make_measured_run, make_run
from tests.runs.actions.windows import BEGAN, measured_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def level() -> Level:
    kept = measured_run()
    judge_attempt(attempt=kept.attempt)
    return Level.objects.get(pk=kept.pk)


@pytest.fixture
def run(level: Level) -> Run:
    return level.attempt.run


def move(member: Client, run: Run, **data: str) -> str:
    told = {"start": "10", "end": "50.5", "reason": "a quiet stretch", **data}
    response = member.post(reverse("run-window", args=[run.pk, 0]), told, follow=True)
    return response.content.decode()


def test_the_page_tells_each_levels_window_and_the_clocks(member: Client, run: Run) -> None:
    page = member.get(run.get_absolute_url()).content.decode()
    assert "1.0 to 84.0 s" in page
    assert "all clients in flight" in page
    assert "Client and log share one clock" in page
    assert "output tok/s counted inside it" in page


def test_it_tells_how_far_the_nodes_clock_was_from_ours(member: Client, run: Run) -> None:
    attempt = run.attempts.get()
    note_clock(attempt, "start", {"offset_s": -0.0123, "uncertainty_s": 0.02})
    note_clock(attempt, "end", None)
    page = member.get(run.get_absolute_url()).content.decode()
    assert "Against ours it was \u22120.012 ± 0.020 s at the start." in page
    note_clock(attempt, "end", {"offset_s": 1.5, "uncertainty_s": 0.004})
    page = member.get(run.get_absolute_url()).content.decode()
    assert "s at the start, +1.500 ± 0.004 s at the end." in page


def test_an_imports_page_says_that_no_clocks_were_compared(member: Client, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(imported=True)
    page = member.get(run.get_absolute_url()).content.decode()
    assert "Clocks of client and log not compared" in page


def test_a_plain_form_moves_it_and_the_record_is_shown(member: Client, run: Run) -> None:
    page = move(member, run)
    level = Level.objects.get()
    assert (level.window_start, level.window_end) == (BEGAN + 10, BEGAN + 50.5)
    assert "10.0 to 50.5 s" in page
    assert "moved by hand" in page
    assert ": a quiet stretch" in page
    assert "Before: 1.0 to 84.0 s, all clients in flight" in page
    assert '<sup class="w" title="its window was moved by hand">W</sup>' in page


def test_back_needs_no_reason(member: Client, run: Run) -> None:
    assert "Back to the found window" in move(member, run)
    page = move(member, run, back="1", reason="", start="x")
    assert Level.objects.get().window_source == "client"
    assert "Put back to the found window" in page
    assert "Back to the found window" not in page
    assert WindowMove.objects.count() == 2


@pytest.mark.parametrize(
    ("data", "field", "words"),
    [
        ({"start": "-3"}, "start", "-3.0 s is outside it"),
        ({"end": "5"}, "end", "The window ends before it begins."),
        ({"end": "abc"}, "end", "This is a number"),
        ({"reason": " "}, "reason", "Say why it is moved"),
        ({"start": "nan"}, "start", "This is a number"),
    ],
)
def test_a_wrong_field_is_named_and_keeps_what_was_typed(
    member: Client, run: Run, data: dict[str, str], field: str, words: str
) -> None:
    told = {"start": "10", "end": "50", "reason": "why", **data}
    response = member.post(reverse("run-window", args=[run.pk, 0]), told)
    page = response.content.decode()
    assert response.status_code == 422
    assert words in page
    assert f'aria-describedby="w0-{field}-error"' in page
    assert 'id="window-0"' in page and " open>" in page.split('id="window-0"')[1][:200]
    assert f'value="{told["start"]}"' in page
    assert not WindowMove.objects.exists()


def test_a_level_that_is_not_there_is_not_found(member: Client, run: Run) -> None:
    assert member.post(reverse("run-window", args=[run.pk, 7]), {}).status_code == 404
    assert member.get(reverse("run-window", args=[run.pk, 0])).status_code == 405


def test_a_stranger_moves_nothing(client: Client, run: Run) -> None:
    told = {"start": "10", "end": "50", "reason": "why"}
    assert client.post(reverse("run-window", args=[run.pk, 0]), told).status_code in (302, 403)
    assert not WindowMove.objects.exists()


def test_a_run_that_goes_on_has_no_form(member: Client, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(state=State.MEASURING, ended_at=None)
    page = member.get(run.get_absolute_url()).content.decode()
    assert "Move the window" not in page
    assert "1.0 to 84.0 s" in page


def test_a_run_without_windows_has_no_such_part(member: Client) -> None:
    run = make_measured_run(make_arm(make_campaign()), {4: 900.0})
    assert 'id="windows-h"' not in member.get(run.get_absolute_url()).content.decode()


def test_the_charts_are_told_of_it(member: Client, run: Run) -> None:
    move(member, run)
    (told,) = marks(run_page(run))["levels"]
    assert told["window"] == {"start": BEGAN + 10, "end": BEGAN + 50.5, "source": "by hand"}


def test_the_api_tells_the_window(member: Client, run: Run, level: Level) -> None:
    told = json.loads(member.get(f"/api/v1/runs/{run.pk}").content)
    assert told["levels"][0]["window"] == {
        "start": level.window_start,
        "end": level.window_end,
        "source": "client",
        "why": "",
        "counts_output": True,
    }


def test_the_comparison_marks_the_figures_of_a_moved_window(member: Client, run: Run) -> None:
    other = measured_run(make_run(make_arm(run.campaign, "steps=2", steps=2)))
    judge_attempt(attempt=other.attempt)
    address = f"/compare/?arms={run.arm_id}~{other.attempt.run.arm_id}"
    mark = '<sup class="w"'
    assert mark not in member.get(address).content.decode()
    move(member, run)
    assert member.get(address).content.decode().count(mark) == 2  # output tok/s, accept len
    campaign = member.get(run.campaign.get_absolute_url()).content.decode()
    assert mark in campaign


def test_beneath_a_comparisons_sentence_stands_where_windows_were_moved(
    member: Client, run: Run
) -> None:
    other = make_arm(run.campaign, "steps=2", steps=2)
    make_measured_run(other, {16: 1800.0})
    address = f"/compare/?arms={run.arm.pk}~{other.pk}"
    said = "Windows moved by hand at 16."
    assert said not in member.get(address).content.decode()
    move(member, run)
    assert said in member.get(address).content.decode()
