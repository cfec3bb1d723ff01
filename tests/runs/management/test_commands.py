"""What the commands print."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command, load_command_class
from django.db import OperationalError
from django.db.migrations.recorder import MigrationRecorder

from runs.models import Level, Reason, State
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_host,
    make_level,
    make_measured_run,
    make_run,
)

pytestmark = pytest.mark.django_db


def printed(*words: Any) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def test_campaign_status_lists_runs_with_state_reason_and_levels() -> None:
    campaign = make_campaign()
    arm = make_arm(campaign)
    make_level(make_attempt(make_run(arm)), 4, 400.0, user_tps=119.0, accept_len=1.9)
    make_run(arm, state=State.FAILED, reason=Reason.NEVER_READY, reason_text="Not ready in time.")
    told = json.loads(printed("campaign_status", campaign.pk, "--json"))
    good, bad = told["runs"]
    assert good["levels"] == [
        {
            "concurrency": 4,
            "state": Level.State.DONE,
            "output_tps": 400.0,
            "user_tps": 119.0,
            "accept_len": 1.9,
        }
    ]
    assert (good["state"], good["reason"]) == ("succeeded", "")
    assert (bad["state"], bad["reason"], bad["levels"]) == ("failed", "never-ready", [])


def test_campaign_status_prints_a_table_for_people() -> None:
    campaign = make_campaign()
    make_measured_run(make_arm(campaign), {4: 400.0})
    shown = printed("campaign_status", str(campaign.pk))
    assert "steps=1, launch 1 on llm-two: succeeded" in shown and "400" in shown


def test_a_failure_is_told_in_a_sentence_under_its_run() -> None:
    campaign = make_campaign()
    told = "It ran out of memory.\nLast lines of the server log:\nTraceback"
    make_run(make_arm(campaign), state=State.FAILED, reason=Reason.SERVER_DIED, reason_text=told)
    shown = printed("campaign_status", str(campaign.pk))
    assert "  It ran out of memory.\n" in shown and "Traceback" not in shown


def test_compare_says_that_its_figures_are_simulated() -> None:
    campaign = make_campaign()
    arm = make_arm(campaign, host=make_host("demo", simulated=True))
    one, two = (make_measured_run(arm, {1: 100.0}) for _ in range(2))
    assert "on demo, simulated" in printed("compare", one.pk, two.pk)
    assert json.loads(printed("compare", one.pk, two.pk, "--json"))["simulated"] is True


def test_compare_gives_the_change_of_each_level() -> None:
    campaign = make_campaign()
    before = make_measured_run(make_arm(campaign), {1: 122.0, 4: 400.0})
    after = make_measured_run(make_arm(campaign, "steps=2", steps=2), {1: 183.0})
    told = json.loads(printed("compare", before.pk, after.pk, "--json"))
    output = {
        each["concurrency"]: each for each in told["levels"] if each["metric"] == "output_tps"
    }
    assert (output[1]["ratio"], output[1]["change"]) == (1.5, 0.5)
    assert (output[4]["before"], output[4]["after"], output[4]["change"]) == (400.0, None, None)
    assert told["differences"][0]["key"] == "--speculative-num-steps"
    assert told["verdict"]["word"] == "single launch, a hint"
    assert [level["word"] for level in told["verdict"]["levels"]] == [
        "single launch, a hint", "not measured",
    ]  # fmt: skip


def test_compare_prints_a_table_for_people() -> None:
    campaign = make_campaign()
    before = make_measured_run(make_arm(campaign), {1: 122.0})
    after = make_measured_run(make_arm(campaign, "steps=2", steps=2), {1: 183.0})
    shown = printed("compare", before.pk, after.pk)
    assert "+50 %" in shown and "hint" in shown and "--speculative-num-steps 1 → 2" in shown


@pytest.mark.parametrize("words", [("campaign_status", "99"), ("compare", "98", "99")])
def test_an_unknown_number_is_said(words: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match="There is no"):
        printed(*words)


@pytest.mark.parametrize("name", ["campaign_status", "compare"])
def test_the_json_is_described_in_the_help(name: str) -> None:
    parser = load_command_class("runs", name).create_parser("manage.py", name)
    assert all(word in parser.format_help() for word in ("--json", "concurrency", "output"))


@pytest.mark.parametrize("form", ["markdown", "csv", "json"])
def test_compare_prints_what_the_page_exports(form: str) -> None:
    campaign = make_campaign("Does it pay?")
    before = make_measured_run(make_arm(campaign), {4: 400.0})
    after = make_measured_run(make_arm(campaign, "steps=2", steps=2), {4: 500.0})
    shown = printed("compare", before.pk, after.pk, "--format", form)
    assert "500" in shown and "steps=2" in shown and "a hint" in shown
    if form == "json":
        told = json.loads(shown)
        assert told["pairs"][0]["rows"][0]["output"]["change"] == 0.25


def test_two_launches_of_one_arm_are_told_apart_in_an_export() -> None:
    arm = make_arm(make_campaign())
    runs = [make_measured_run(arm, {4: tps}) for tps in (400.0, 404.0)]
    shown = printed("compare", runs[0].pk, runs[1].pk, "--format", "markdown")
    assert f"### steps=1, run {runs[1].pk} against steps=1, run {runs[0].pk}" in shown


def test_a_conductor_refuses_a_database_that_was_not_migrated() -> None:
    MigrationRecorder.Migration.objects.filter(app="runs").latest("pk").delete()
    with pytest.raises(CommandError, match=r"lacks 1 migrations.*manage.py migrate"):
        call_command("conduct")


def test_a_conductor_starts_while_the_database_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> int:
        raise OperationalError("connection refused")

    async def conducted(conductor: object) -> None:
        begun.append(conductor)

    begun: list[object] = []
    monkeypatch.setattr("runs.management.commands.conduct.unapplied", away)
    monkeypatch.setattr("runs.management.commands.conduct._conduct", conducted)
    call_command("conduct")
    assert len(begun) == 1
