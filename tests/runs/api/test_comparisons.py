"""A comparison by the API."""

from __future__ import annotations

import math

import pytest
from django.test import Client

from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_level,
    make_measured_run,
    make_run,
    make_samples,
    make_stream,
)

pytestmark = pytest.mark.django_db


def test_it_gives_changes_by_level_and_what_differs(member: Client) -> None:
    campaign = make_campaign()
    a, b = make_arm(campaign), make_arm(campaign, "steps=2", steps=2)
    make_measured_run(a, {1: 100.0, 4: 400.0})
    make_measured_run(b, {1: 150.0})
    told = member.get(f"/api/v1/compare?arms={a.pk}~{b.pk}").json()
    output = [each for each in told["pairs"][0]["levels"] if each["metric"] == "output_tps"]
    assert [(each["concurrency"], each["change"]) for each in output] == [(1, 0.5), (4, None)]
    assert {row["key"] for row in told["pairs"][0]["differences"]} == {
        "--speculative-num-steps",
        "--speculative-num-draft-tokens",
    }
    assert "hint" in told["pairs"][0]["sentence"]


@pytest.mark.parametrize("arms", ["", "1~x", "1~1~1~1~1~1~1"])
def test_it_refuses_what_names_no_arms(member: Client, arms: str) -> None:
    assert member.get(f"/api/v1/compare?arms={arms}").status_code == 422


def test_a_single_arm_has_its_log_and_no_pairs(member: Client) -> None:
    run = make_measured_run(make_arm(make_campaign()), {1: 100.0}, imported=True)
    stream = make_stream(run.attempts.get(), lines=1)
    make_samples(stream, [71.44], running=1, accept_len=1.5, accept_rate=0.5, graph=True)
    told = member.get(f"/api/v1/compare?arms={run.arm_id}").json()
    assert told["pairs"] == []
    assert told["arms"][0]["log"] == {
        "lines": [
            {
                "phase": "decode",
                "running": 1,
                "waiting": 0,
                "output_tps": 71.44,
                "accept_len": 1.5,
                "accept_rate": 0.5,
                "graph": True,
                "strict_rate": 0.5,
            }
        ],
        "damaged": 0,
        "active": "Speculation is active: accept len 1.50.",
    }


def test_arms_of_two_campaigns_are_compared(member: Client) -> None:
    a, b = make_arm(make_campaign()), make_arm(make_campaign("another"))
    make_measured_run(a, {1: 100.0})
    make_measured_run(b, {1: 150.0})
    told = member.get(f"/api/v1/compare?arms={a.pk}~{b.pk}").json()
    assert [arm["id"] for arm in told["arms"]] == [a.pk, b.pk]
    assert len({arm["name"] for arm in told["arms"]}) == 2


def test_several_launches_have_a_verdict_with_its_interval(member: Client) -> None:
    campaign = make_campaign()
    a, b = make_arm(campaign), make_arm(campaign, "steps=2", steps=2)
    for spread in (1.0, 1.006, 0.994):
        make_measured_run(a, {1: 100.0 * spread, 4: 400.0 * spread})
        make_measured_run(b, {1: 150.0 * spread, 4: 405.0 * spread})
    told = member.get(f"/api/v1/compare?arms={a.pk}~{b.pk}").json()["pairs"][0]["verdict"]
    assert (told["metric"], told["delta"], told["confidence"]) == ("output_tps", 0.02, 0.95)
    assert told["noise_assumed"] is True
    first, second = told["levels"]
    assert (first["concurrency"], first["word"], first["likely"]) == (1, "likely better", True)
    assert first["low"] < first["ratio"] < first["high"]
    assert first["ratio"] == pytest.approx(1.5)
    assert (second["word"], second["p_adjusted"] > second["p"] - 1e-12) == ("cannot tell", True)
    assert second["more"] >= 1
    assert told["sweep"]["concurrency"] is None and told["sweep"]["word"] == "likely better"


def test_single_launches_have_no_interval(member: Client) -> None:
    campaign = make_campaign()
    a, b = make_arm(campaign), make_arm(campaign, "steps=2", steps=2)
    make_measured_run(a, {1: 100.0})
    make_measured_run(b, {1: 150.0})
    told = member.get(f"/api/v1/compare?arms={a.pk}~{b.pk}").json()["pairs"][0]["verdict"]
    assert told["sweep"]["word"] == "single launch, a hint"
    assert (told["sweep"]["low"], told["sweep"]["p"]) == (None, None)
    assert told["sweep"]["remarks"] == ["larger than the usual noise"]


def test_the_ledger_multiplies_to_the_change(member: Client) -> None:
    campaign = make_campaign()
    a, b = make_arm(campaign), make_arm(campaign, "steps=2", steps=2)
    for arm, (tps, length) in zip((a, b), ((1600.0, 1.9), (1900.0, 2.6)), strict=True):
        attempt = make_attempt(make_run(arm))
        make_level(attempt, 16, tps * 0.98, started=1000.0, ended=1100.0)
        make_samples(make_stream(attempt), [tps] * 90, began=1005.0, accept_len=length)
    (told,) = member.get(f"/api/v1/compare?arms={a.pk}~{b.pk}").json()["pairs"][0]["ledger"]
    ratios = {bar["key"]: bar["ratio"] for bar in told["bars"]}
    assert list(ratios) == ["occupancy", "accept_len", "steps", "remainder"]
    assert math.prod(ratios.values()) == pytest.approx(told["ratio"])
    assert told["ratio"] == pytest.approx(1900 / 1600)
    assert told["break_even"] == pytest.approx(2.6 * 1600 / 1900)
    assert (told["missing"], told["whole_level"]) == ("", "")


def test_a_ledger_without_a_log_says_whose_is_missing(member: Client) -> None:
    campaign = make_campaign()
    a, b = make_arm(campaign), make_arm(campaign, "steps=2", steps=2)
    make_measured_run(a, {1: 100.0})
    make_measured_run(b, {1: 150.0})
    (told,) = member.get(f"/api/v1/compare?arms={a.pk}~{b.pk}").json()["pairs"][0]["ledger"]
    assert told["bars"] == [] and told["ratio"] == pytest.approx(1.5)
    assert told["missing"] == "needs the server's log of steps=1 and steps=2"
