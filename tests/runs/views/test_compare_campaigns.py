"""A comparison of arms of several campaigns, and the way to it."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from runs.actions.compare import keep_comparison
from runs.models import Arm, Run
from tests.factories import make_arm, make_campaign, make_host, make_measured_run, make_run
from tests.signed_in import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def two_days() -> tuple[Arm, Arm]:
    """One arm each of two campaigns, three days apart, on two hosts; both have one name."""
    first = make_arm(make_campaign("Does steps=2 pay?"), "as pasted")
    other = make_arm(make_campaign("And on the other host?"), "as pasted", host=make_host("llm-9"))
    make_measured_run(first, {1: 100.0, 4: 300.0})
    make_measured_run(other, {1: 150.0, 4: 310.0})
    now = timezone.now()
    Run.objects.filter(arm=first).update(started_at=now - timedelta(days=3))
    Run.objects.filter(arm=other).update(started_at=now)
    return first, other


def test_arms_of_two_campaigns_stand_beside_each_other(
    member: Client, two_days: tuple[Arm, Arm]
) -> None:
    first, other = two_days
    shown = text(member.get(f"/compare/?arms={first.pk}~{other.pk}"))
    assert f"as pasted of campaign {first.campaign_id}" in shown
    assert f"as pasted of campaign {other.campaign_id}" in shown
    assert 'class="arm arm-a"' in shown and 'class="arm arm-b"' in shown
    assert "host differs" in shown
    assert "of 2 campaigns, unpaired in time, 3 days apart" in shown
    assert "+50 %" in shown
    for arm in two_days:
        assert f'href="{arm.campaign.get_absolute_url()}"' in shown


def test_arms_of_one_campaign_keep_their_letters_and_names(member: Client) -> None:
    campaign = make_campaign()
    a, b, c = (make_arm(campaign, f"steps={n}", steps=n) for n in (1, 2, 3))
    shown = text(member.get(f"/compare/?arms={c.pk}~{a.pk}"))
    assert 'class="arm arm-c"' in shown and "campaigns, unpaired" not in shown
    assert b.name in shown  # to add


def test_every_campaign_leads_to_arms_of_the_others(
    member: Client, two_days: tuple[Arm, Arm]
) -> None:
    first, other = two_days
    assert f"/compare/?arms={first.pk}" in text(member.get(first.campaign.get_absolute_url()))
    shown = text(member.get(f"/compare/?arms={first.pk}"))
    assert f'href="?arms={first.pk}~{other.pk}"' in shown
    assert "And on the other host?" in shown and "other host" in shown


@pytest.mark.parametrize(("find", "there"), [("other host", True), ("llm-9", True), ("zzz", False)])
def test_arms_are_found_by_a_word(
    member: Client, two_days: tuple[Arm, Arm], find: str, there: bool
) -> None:
    first, other = two_days
    shown = text(member.get("/compare/", {"arms": str(first.pk), "find": find}))
    assert (f'href="?arms={first.pk}~{other.pk}"' in shown) is there
    assert there or "No arm of another campaign holds “zzz”" in shown


def test_one_more_arm_is_added_to_a_comparison(member: Client, two_days: tuple[Arm, Arm]) -> None:
    first, other = two_days
    third = make_arm(make_campaign("A third day"), "steps=3", steps=3)
    key = f"{first.pk}~{other.pk}"
    assert f'href="?arms={key}&amp;find="' in text(member.get(f"/compare/?arms={key}"))
    shown = text(member.get(f"/compare/?arms={key}&find="))
    assert f'href="?arms={key}~{third.pk}"' in shown
    assert f'href="?arms={key}~{other.pk}"' not in shown


def test_the_same_model_comes_first(member: Client, two_days: tuple[Arm, Arm]) -> None:
    first, _ = two_days
    odd = make_arm(make_campaign("Another model"), "odd")
    odd.config.model = "/models/Other-7B"
    odd.config.save()
    assert f"~{odd.pk}" not in text(member.get(f"/compare/?arms={first.pk}"))
    shown = text(member.get("/compare/", {"arms": str(first.pk), "find": "Other-7B"}))
    assert f"~{odd.pk}" in shown and "other model" in shown


def test_a_missing_arm_is_named(member: Client, two_days: tuple[Arm, Arm]) -> None:
    first, _ = two_days
    answer = member.get(f"/compare/?arms={first.pk}~987654")
    assert answer.status_code == 404
    shown = text(answer)
    assert "There is no arm 987654." in shown and f'href="?arms={first.pk}"' in shown
    told = member.get(f"/api/v1/compare?arms={first.pk}~987654")
    assert (told.status_code, told.json()["detail"]) == (404, "There is no arm 987654.")


def test_a_comparison_of_two_campaigns_is_shared_and_noted(
    member: Client, two_days: tuple[Arm, Arm]
) -> None:
    first, other = two_days
    key = f"{first.pk}~{other.pk}"
    assert "/s/" in text(member.post("/compare/share/", {"arms": key}))
    answer = member.post(
        "/notes/add/", {"anchor": f"comparison:{key}", "text": "Two days.", "kind": "note"}
    )
    assert answer.status_code == 302
    assert "Two days." in text(member.get(f"/compare/?arms={key}"))


def test_one_arm_is_offered_what_it_is_likely_wanted_beside(member: Client) -> None:
    campaign, far = make_campaign(), make_host("llm-nine")
    first, parent = make_arm(campaign, "first"), make_arm(campaign, "parent", steps=2)
    arm = make_arm(campaign, "child", steps=3)
    twin = make_arm(make_campaign("There, too?"), "twin", config=arm.config, host=far)
    other = make_arm(make_campaign("Elsewhere?"), "judged against")
    make_run(arm, rerun_of=make_run(parent))
    keep_comparison(arms=[other, arm])
    shown = text(member.get(f"/compare/?arms={arm.pk}"))
    likely = shown.partition('id="suggested"')[2].partition("</section>")[0]
    offered = re.findall(r'href="\?arms=(\d+)~(\d+)"', likely)
    wanted = [parent.pk, other.pk, first.pk, twin.pk]
    assert offered == [(str(pk), str(arm.pk)) for pk in wanted]
    for words in ("rerun from", "last baseline", "campaign&#x27;s baseline", "on llm-nine"):
        assert words in likely
