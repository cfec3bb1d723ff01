"""What is typed as limits, and what the runs then keep."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from runs.execution.limits import Limits
from runs.forms.initial import initial_like
from runs.models import Arm, Campaign
from tests.factories import make_host, make_person
from tests.runs.forms.test_launch import TYPED, form
from tests.signed_in import text

pytestmark = pytest.mark.django_db
ALL = {"ready_min": "12", "wall_h": "1.5", "stall_min": "20", "lost_h": "2", "deadman_h": "3"}
SECONDS = {
    "ready_s": 720, "wall_s": 5400, "stall_s": 1200, "lost_after_s": 7200, "deadman_s": 10800,
}  # fmt: skip


@pytest.fixture
def member() -> Client:
    make_host("llm-two")
    client = Client()
    client.force_login(make_person())
    return client


def test_what_is_typed_is_what_the_runs_keep_and_what_the_next_form_begins_with(
    member: Client, settings: Any
) -> None:
    assert member.post("/campaigns/new/", {**TYPED, **ALL}).status_code == 302
    campaign = Campaign.objects.get()
    assert campaign.limits == SECONDS
    kept = Limits.of(campaign)
    assert (kept.ready_s, kept.wall_s, kept.stall_s) == (720, 5400, 1200)
    assert (kept.lost_after_s, kept.deadman_s) == (7200, 10800)
    begun = initial_like(Arm.objects.order_by("pk")[0])
    assert {name: begun[name] for name in ALL} == ALL


def test_what_is_left_empty_is_the_houses(member: Client, settings: Any) -> None:
    member.post("/campaigns/new/", {**TYPED, "lost_h": "2"})
    campaign = Campaign.objects.get()
    assert campaign.limits == {"lost_after_s": 7200}
    kept = Limits.of(campaign)
    assert (kept.ready_s, kept.wall_s) == (1800, 86400)
    assert (kept.stall_s, kept.deadman_s) == (None, None)


def test_the_page_tells_the_houses_limits_folded(member: Client) -> None:
    page = text(member.get("/campaigns/new/"))
    assert '<details><summary class="btn">Set limits…' in page
    assert "From the start of the server. Empty: 30." in page
    assert "The node keeps it by itself. Empty: 24." in page
    assert "Of a node out of reach. Empty: 6." in page


def test_a_wrong_limit_is_told_unfolded_and_stays(member: Client) -> None:
    answer = member.post("/campaigns/new/", {**TYPED, "wall_h": "soon"})
    assert answer.status_code == 422
    page = text(answer)
    assert '<details open><summary class="btn">Set limits…' in page
    assert 'value="soon"' in page
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    ("name", "value"), [("ready_min", "0"), ("wall_h", "169"), ("lost_h", "-1")]
)
def test_limits_that_make_no_sense_are_refused(name: str, value: str) -> None:
    assert name in form(**{name: value}).errors
