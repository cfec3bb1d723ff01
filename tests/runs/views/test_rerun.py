"""Rerun with…: a proposal first, then one click."""

from __future__ import annotations

import pytest
from django.test import Client

from runs.models import Arm, Run
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_host,
    make_level,
    make_measured_run,
    make_run,
    make_workload,
)
from tests.signed_in import text

pytestmark = pytest.mark.django_db

STEPS = "--speculative-num-steps"


@pytest.fixture
def arm() -> Arm:
    return make_arm(make_campaign(), "steps=2", steps=2)


def test_chips_are_addresses(member: Client, arm: Arm) -> None:
    page = text(member.get(f"/arms/{arm.pk}/rerun/"))
    assert "?set=--speculative-num-steps%3D3" in page and "?set=temperature%3D0.7" in page
    assert "steps=2</a>" not in page  # what it is already is no change


def test_steps_3_brings_four_draft_tokens_and_the_exact_command(member: Client, arm: Arm) -> None:
    page = text(member.get(f"/arms/{arm.pk}/rerun/?set={STEPS}=3"))
    assert "--speculative-num-steps 3 " in page
    assert "--speculative-num-draft-tokens 4" in page
    assert "steps + 1" in page  # why it follows
    assert Run.objects.count() == 0


def test_confirming_queues_a_new_arm_and_shows_its_run(member: Client, arm: Arm) -> None:
    response = member.post(f"/arms/{arm.pk}/rerun/", {"set": f"{STEPS}=3", "host": "llm-two"})
    run = Run.objects.get()
    assert response.headers["Location"] == run.get_absolute_url()
    assert (run.arm.name, run.state, run.arm.derived_from) == ("steps=3", "queued", arm)
    assert run.arm.config.flags["--speculative-num-draft-tokens"] == 4
    assert str(run.queued_by) == "operator"


def test_two_changes_go_together(member: Client, arm: Arm) -> None:
    page = text(member.get(f"/arms/{arm.pk}/rerun/?set={STEPS}=3&set=temperature=0.7"))
    assert "steps=3, temp=0.7" in page


def test_a_free_flag_is_added_to_the_proposal(member: Client, arm: Arm) -> None:
    query = f"set={STEPS}=3&flag=--max-running-requests&value=16"
    page = text(member.get(f"/arms/{arm.pk}/rerun/?{query}"))
    assert "--max-running-requests 16" in page and "--speculative-num-steps 3" in page


def test_one_more_launch_joins_the_same_arm(member: Client, arm: Arm) -> None:
    make_measured_run(arm, {1: 100.0})
    member.post(f"/arms/{arm.pk}/rerun/", {"more": "1"})
    run = arm.runs.order_by("-pk")[0]
    assert (run.launch, run.state) == (2, "queued")


@pytest.mark.parametrize(
    "word", [f"{STEPS}=0", f"{STEPS}=many", "temperature=9", "--speculative-eagle-topk=0", "x=1"]
)
def test_a_change_that_cannot_be_right_is_refused_at_its_field(
    member: Client, arm: Arm, word: str
) -> None:
    page = text(member.get(f"/arms/{arm.pk}/rerun/", {"set": word}))
    assert 'role="alert"' in page and word.split("=")[0] in page and "Start " not in page
    response = member.post(f"/arms/{arm.pk}/rerun/", {"set": word})
    assert response.status_code == 422
    assert Run.objects.count() == 0


def test_a_host_that_only_names_an_import_cannot_be_started_on(member: Client) -> None:
    host = make_host("imported", confirmed=False, address="", user="", key_path="")
    arm = make_arm(make_campaign(), "steps=2", steps=2, host=host)
    page = text(member.get(f"/arms/{arm.pk}/rerun/?set={STEPS}=3"))
    assert "cannot be reached" in page
    response = member.post(f"/arms/{arm.pk}/rerun/", {"set": f"{STEPS}=3"})
    assert response.status_code == 422 and Run.objects.count() == 0


def test_another_host_may_be_chosen_for_an_import(member: Client) -> None:
    host = make_host("imported", confirmed=False, address="", user="", key_path="")
    make_host("llm-three")
    arm = make_arm(make_campaign(), "steps=2", steps=2, host=host)
    member.post(f"/arms/{arm.pk}/rerun/", {"set": f"{STEPS}=3", "host": "llm-three"})
    assert Run.objects.get().host.name == "llm-three"


def test_looking_starts_nothing(member: Client, arm: Arm) -> None:
    member.get(f"/arms/{arm.pk}/rerun/?set={STEPS}=3&more=1")
    assert Run.objects.count() == 0 and Arm.objects.count() == 1


def test_shell_words_stay_one_argument(member: Client, arm: Arm) -> None:
    query = {"flag": "--served-model-name", "value": "a; rm -rf /"}
    page = text(member.get(f"/arms/{arm.pk}/rerun/", query))
    assert "--served-model-name &#x27;a; rm -rf /&#x27;" in page


def test_a_stranger_is_sent_to_sign_in(stranger: Client, arm: Arm) -> None:
    response = stranger.post(f"/arms/{arm.pk}/rerun/", {"set": f"{STEPS}=3"})
    assert response.status_code == 302 and Run.objects.count() == 0


def test_the_name_tells_a_value_of_one(member: Client, arm: Arm) -> None:
    member.post(f"/arms/{arm.pk}/rerun/", {"set": f"{STEPS}=1"})
    assert Run.objects.get().arm.name == "steps=1"


@pytest.mark.parametrize("word", ["--top=nan", "--top=inf", "--top=1e999"])
def test_what_no_json_can_hold_stays_a_word(member: Client, arm: Arm, word: str) -> None:
    assert member.post(f"/arms/{arm.pk}/rerun/", {"set": word}).status_code == 302
    assert Run.objects.get().arm.config.flags["--top"] == word.partition("=")[2]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("--port=30001", "--port stays"),
        ("--host=0.0.0.0", "--host stays"),
        ("--model-path=/other", "--model-path stays"),
        ("--model=/other", "--model-path stays"),
        ("--hf-token=hf_canarycanary", "--hf-token holds a secret"),
        ("--download=https://me:canarypass@host/x", "--download holds a secret"),
    ],
)
def test_what_may_not_stand_in_a_command_is_refused(
    member: Client, arm: Arm, word: str, reason: str
) -> None:
    response = member.post(f"/arms/{arm.pk}/rerun/", {"set": word})
    assert response.status_code == 422
    assert reason in text(response)
    assert not Run.objects.exists()


def test_cache_and_seed_are_one_click_away(member: Client, arm: Arm) -> None:
    page = text(member.get(f"/arms/{arm.pk}/rerun/"))
    for word in ("cache_policy%3Dflush", "cache_policy%3Dnew-seed", "seed%3D2"):
        assert f"?set={word}" in page
    member.post(f"/arms/{arm.pk}/rerun/", {"set": "cache_policy=flush", "host": "llm-two"})
    run = Run.objects.get()
    assert run.arm.name == "steps=2, cache=flush"
    assert run.arm.workload.cache_policy == "flush"


def test_a_load_that_its_driver_would_not_take_is_refused(member: Client, arm: Arm) -> None:
    page = text(member.get(f"/arms/{arm.pk}/rerun/?set=prompt_set=random"))
    assert "Must be one of chat, code, prose, synthetic, file" in page


def test_an_imported_load_cannot_be_started_again(member: Client) -> None:
    load = make_workload(driver="unknown", temperature=None, ignore_eos=None, seed=None)
    arm = make_arm(make_campaign(), "steps=2", steps=2, workload=load)
    page = text(member.get(f"/arms/{arm.pk}/rerun/?set={STEPS}=3"))
    assert "This load was imported" in page
    form = text(member.get(f"/campaigns/new/?like={arm.pk}"))
    assert f"?like={arm.pk}" in page and 'value="/models/Qwen3.5-122B-A10B"' in form
    assert '<option value="probe" selected>' in form
    response = member.post(f"/arms/{arm.pk}/rerun/", {"more": "1"})
    assert response.status_code == 422
    assert "This load was imported" in text(response)
    assert Run.objects.count() == 0


def test_the_pages_say_what_other_steps_would_measure(member: Client) -> None:
    campaign, workload = make_campaign(), make_workload((16,))
    arms = []
    for steps, length, tps in ((1, 1.80, 2034.0), (2, 2.45, 2430.0)):
        arms.append(make_arm(campaign, f"steps={steps}", steps=steps, workload=workload))
        make_level(make_attempt(make_run(arms[-1])), 16, tps, accept_len=length)
    shown = text(member.get(f"/arms/{arms[1].pk}/rerun/?set=--speculative-num-steps%3D3"))
    assert "from arms with other steps" in shown and "2.98" in shown
    compared = text(member.get(f"/compare/?arms={arms[0].pk}~{arms[1].pk}"))
    assert "Expected, 80 % sure" in compared
    other = text(member.get(f"/arms/{arms[1].pk}/rerun/?set=temperature%3D0.7"))
    assert "from arms with other steps" not in other
