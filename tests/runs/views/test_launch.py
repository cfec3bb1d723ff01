"""Opening a campaign from the browser."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from runs.models import Campaign, Run, State
from tests.factories import make_arm, make_campaign, make_host, make_run
from tests.runs.forms.test_launch import TYPED
from tests.signed_in import text


@pytest.fixture
def typed(db: None) -> dict[str, Any]:
    make_host("llm-two")
    return dict(TYPED)


def test_it_queues_the_launches_interleaved(member: Client, typed: dict[str, Any]) -> None:
    answer = member.post("/campaigns/new/", {**typed, "repeats": "2"})
    campaign = Campaign.objects.get()
    assert answer["Location"] == campaign.get_absolute_url()
    assert campaign.opened_by.username == "operator"
    names = [run.arm.name for run in Run.objects.select_related("arm").order_by("position")]
    assert names == ["steps=1", "steps=2", "steps=2", "steps=1"]
    assert set(Run.objects.values_list("state", flat=True)) == {State.QUEUED}
    assert campaign.arms.get(name="steps=2").config.flags["--speculative-num-draft-tokens"] == 3


def test_nothing_typed_is_lost_when_it_is_refused(member: Client, typed: dict[str, Any]) -> None:
    odd = {**typed, "tp": "four", "extra": "--enable-metrics", "question": "Is “it” <fast>?"}
    answer = member.post("/campaigns/new/", odd)
    assert answer.status_code == 422
    page = text(answer)
    for value in ('value="four"', "--enable-metrics", "Is “it” &lt;fast&gt;?", 'value="1, 4, 16"'):
        assert value in page
    assert "This is a whole number, such as 4." in page
    assert not Campaign.objects.exists()


def test_the_preview_shows_the_exact_commands_and_starts_nothing(
    member: Client, typed: dict[str, Any]
) -> None:
    page = text(member.post("/campaigns/preview/", {**typed, "question": ""}))
    assert "--speculative-num-steps 2 \\" in page
    assert "2 launches, each with 96 requests at 3 levels." in page
    assert "Ask the question that these runs are to answer." in page
    assert not Campaign.objects.exists()


def test_without_scripts_a_button_shows_the_commands(member: Client, typed: dict[str, Any]) -> None:
    answer = member.post("/campaigns/new/", {**typed, "preview": "1"})
    assert answer.status_code == 200
    assert "--speculative-num-steps 2 \\" in text(answer)
    assert not Campaign.objects.exists()


def test_a_host_without_a_confirmed_key_is_not_offered(member: Client, db: None) -> None:
    make_host("new-node", confirmed=False)
    page = text(member.get("/campaigns/new/"))
    assert "No host can be reached yet." in page
    assert "new-node" not in page


def test_it_begins_with_what_was_launched_last(member: Client, typed: dict[str, Any]) -> None:
    for steps in (1, 3):
        campaign = Campaign.objects.first() or make_campaign("The last question?")
        make_run(make_arm(campaign, f"steps={steps}", steps=steps))
    page = text(member.get("/campaigns/new/"))
    assert "Filled in as in “The last question?”" in page
    assert 'value="1, 3"' in page


def test_the_form_is_there_before_anything_ran(member: Client, db: None) -> None:
    assert member.get("/campaigns/new/").status_code == 200


OWN = b'{"prompt": "Why?"}\n{"messages": [{"role": "user", "content": "How?"}]}\n'


def test_an_uploaded_prompt_file_is_kept_with_the_workload(
    member: Client, typed: dict[str, Any]
) -> None:
    file = SimpleUploadedFile("p.jsonl", OWN)
    answer = member.post("/campaigns/new/", {**typed, "prompt_set": "file", "prompts_file": file})
    assert answer.status_code == 302
    load = Campaign.objects.get().arms.get(name="steps=1").workload
    assert load.prompts.encode() == OWN.strip()
    assert load.settings()["prompts"] is not None


def test_a_wrong_file_comes_back_with_its_lines_and_reasons(
    member: Client, typed: dict[str, Any]
) -> None:
    file = SimpleUploadedFile("p.jsonl", OWN + b"\xff\n")
    answer = member.post("/campaigns/new/", {**typed, "prompt_set": "file", "prompts_file": file})
    assert answer.status_code == 422
    assert "Line 3: not JSON." in text(answer)
    assert "&quot;How?&quot;" in text(answer)
    assert not Campaign.objects.exists()


def test_the_preview_shows_the_load_and_what_bends_its_numbers(
    member: Client, typed: dict[str, Any]
) -> None:
    client = {"driver": "sglang_bench", "prompt_set": "random", "temperature": "0"}
    page = text(member.post("/campaigns/preview/", {**typed, **client}))
    assert "python3 -m sglang.bench_serving \\" in page
    assert "The other 2 levels" in page
    assert "Warm cache: every level asks with seed 1" in page
    assert "Temperature 0: drafts are accepted" in page


def test_the_preview_shows_the_blocks_and_what_is_not_known(
    member: Client, typed: dict[str, Any]
) -> None:
    page = text(member.post("/campaigns/preview/", {**typed, "repeats": "7", "looks": "3"}))
    assert page.count("look 1 of 3") == page.count("look 3 of 3") == 1
    assert "time not known" in page
    assert "nobody knows how long it takes" in page


def test_looks_are_kept_with_the_campaign(member: Client, typed: dict[str, Any]) -> None:
    member.post("/campaigns/new/", {**typed, "repeats": "7", "looks": "3"})
    campaign = Campaign.objects.get()
    assert (campaign.looks, campaign.next_look) == ([3, 5, 7], 3)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"repeats": "3", "looks": "2"}, "2 looks need 4 launches of each arm"),
        ({"repeats": "7", "looks": "3", "steps": "1"}, "nothing to look at in between"),
    ],
)
def test_a_plan_has_room_for_its_looks(
    member: Client, typed: dict[str, Any], changed: dict[str, str], why: str
) -> None:
    answer = member.post("/campaigns/new/", {**typed, **changed})
    assert answer.status_code == 422
    assert why in text(answer)
