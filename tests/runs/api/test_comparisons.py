"""A comparison by the API."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.factories import make_arm, make_campaign, make_measured_run

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


@pytest.mark.parametrize("arms", ["", "1", "1~x", "1~1~1~1~1~1~1"])
def test_it_refuses_what_names_no_arms(member: Client, arms: str) -> None:
    assert member.get(f"/api/v1/compare?arms={arms}").status_code == 422


def test_arms_of_two_campaigns_are_not_compared(member: Client) -> None:
    a, b = make_arm(make_campaign()), make_arm(make_campaign("another"))
    assert member.get(f"/api/v1/compare?arms={a.pk}~{b.pk}").status_code == 404
