"""The comparison page."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client

from runs.actions.compare import keep_comparison, share_comparison
from runs.comparisons import compare_arms
from runs.models import Arm, Caveat, Level, ServerConfig, State
from runs.snapshots import snapshot
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_host,
    make_level,
    make_measured_run,
    make_note,
    make_person,
    make_run,
    make_samples,
    make_stream,
)
from tests.signed_in import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def arms() -> tuple[Arm, Arm]:
    campaign = make_campaign()
    return make_arm(campaign), make_arm(campaign, "steps=2", steps=2)


def measure(arms: tuple[Arm, Arm]) -> None:
    figures = ({1: 122.0, 32: 1515.0}, {1: 183.0, 32: 1673.0})
    for arm, tps, requests in zip(arms, figures, (26, 21), strict=True):
        run = make_measured_run(arm, tps)
        run.attempts.update(startup={"max_running_requests": requests})


def key(arms: tuple[Arm, Arm]) -> str:
    return f"{arms[0].pk}~{arms[1].pk}"


def page(member: Client, arms: tuple[Arm, Arm]) -> str:
    return text(member.get(f"/compare/?arms={key(arms)}"))


def test_the_sentence_comes_first_and_is_a_hint(member: Client, arms: tuple[Arm, Arm]) -> None:
    measure(arms)
    shown = page(member, arms)
    assert "a hint, not a verdict" in shown
    assert "+50 %" in shown and "+10 %" in shown
    for forbidden in ("clearly better", "> better<", "likely better"):
        assert forbidden not in shown
    assert shown.index("a hint, not a verdict") < shown.index("Caveats")


def test_the_incidental_limit_is_pointed_out(member: Client, arms: tuple[Arm, Arm]) -> None:
    measure(arms)
    shown = page(member, arms)
    assert "incidental" in shown and "effective 26" in shown and "effective 21" in shown
    assert "ran 26 and 21 of 32" in shown and "running limit differs" in shown


def test_a_missing_number_is_a_dot_and_never_zero(member: Client, arms: tuple[Arm, Arm]) -> None:
    make_level(make_attempt(make_run(arms[0])), 4, None)
    make_level(make_attempt(make_run(arms[1])), 4, 234.0)
    row = page(member, arms).partition('id="l4"')[2].partition("</tr>")[0]
    assert ">·<" in row and ">0<" not in row and ">0.0<" not in row


def test_arms_without_runs_have_a_page(member: Client, arms: tuple[Arm, Arm]) -> None:
    assert "share no concurrency level" in page(member, arms)


def test_a_running_arm_is_set_in_italics(member: Client, arms: tuple[Arm, Arm]) -> None:
    make_measured_run(arms[0], {1: 122.0})
    attempt = make_attempt(make_run(arms[1], state=State.MEASURING))
    make_level(attempt, 1, 183.0)
    make_level(attempt, 32, None, state=Level.State.RUNNING)
    shown = page(member, arms)
    assert "Provisional" in shown and "is-provisional" in shown


def test_swap_makes_the_other_arm_the_baseline(member: Client, arms: tuple[Arm, Arm]) -> None:
    measure(arms)
    assert f"?arms={arms[1].pk}~{arms[0].pk}" in page(member, arms)
    assert "\u221233 %" in page(member, (arms[1], arms[0]))


def test_a_third_arm_is_compared_with_the_baseline_too(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    third = make_arm(arms[0].campaign, "steps=3", steps=3)
    measure(arms)
    make_measured_run(third, {1: 244.0})
    shown = text(member.get(f"/compare/?arms={key(arms)}~{third.pk}"))
    assert "+100 %" in shown and "steps=3 gives" in shown
    assert f"?arms={key(arms)}~{third.pk}" in page(member, arms)  # offered beside the two


def test_caveats_stand_with_their_value_and_a_way_out(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    measure(arms)
    run = arms[0].runs.get()
    Caveat.objects.create(
        run=run, slug="greedy-sampling", text="Temperature 0.", evidence={"temperature": 0}
    )
    shown = page(member, arms)
    assert "measured: temperature 0" in shown
    assert f"/caveats/test/?on=comparison:{key(arms)}&amp;slug=greedy-sampling" in shown
    assert f"/caveats/dismiss/?on=comparison:{key(arms)}&amp;slug=greedy-sampling" in shown


def test_notes_of_the_arms_and_the_campaign_stand_beside_it(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    make_note("of the campaign", campaign=arms[0].campaign)
    make_note("of the arm", arm=arms[1])
    shown = page(member, arms)
    assert "of the campaign" in shown and "of the arm" in shown


def test_a_simulated_host_is_called_so(member: Client) -> None:
    campaign, host = make_campaign(), make_host("demo", simulated=True)
    arms = (make_arm(campaign, host=host), make_arm(campaign, "b", steps=2, host=host))
    assert 'class="simulated"' in page(member, arms)


def test_names_cannot_break_out_of_the_page(member: Client) -> None:
    campaign = make_campaign()
    bad = "</script><script>alert(1)</script>"
    arms = (make_arm(campaign, bad), make_arm(campaign, "b", steps=2))
    measure(arms)
    assert "<script>alert" not in page(member, arms)


def test_without_arms_it_suggests_some(member: Client, arms: tuple[Arm, Arm]) -> None:
    assert f"?arms={key(arms)}" in text(member.get("/compare/"))


def test_one_arm_asks_for_the_other(member: Client, arms: tuple[Arm, Arm]) -> None:
    assert f"?arms={key(arms)}" in text(member.get(f"/compare/?arms={arms[0].pk}"))


@pytest.mark.parametrize("arms", ["x", "1~1", "999~998", "~"])
def test_arms_that_are_none_are_not_found(member: Client, arms: str) -> None:
    assert member.get(f"/compare/?arms={arms}").status_code == 404


def test_the_page_costs_a_fixed_number_of_queries(
    member: Client, arms: tuple[Arm, Arm], django_assert_max_num_queries: object
) -> None:
    for _ in range(3):
        measure(arms)
    with django_assert_max_num_queries(28):  # type: ignore[operator]
        page(member, arms)


def test_a_caveat_measured_in_both_arms_says_whose_value_is_whose(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    measure(arms)
    for arm, limit in zip(arms, (26, 21), strict=True):
        Caveat.objects.create(
            run=arm.runs.get(), slug="running-capped", text=f"At most {limit}.", evidence={}
        )
        Caveat.objects.create(run=arm.runs.get(), slug="ignore-eos", text="Forced.", evidence={})
    shown = page(member, arms)
    assert "steps=1: At most 26." in shown and "steps=2: At most 21." in shown
    assert "Forced." in shown and ": Forced." not in shown


def test_a_difference_too_small_to_matter_has_no_colour(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    make_measured_run(arms[0], {1: 60.0, 64: 1380.0})
    make_measured_run(arms[1], {1: 135.0, 64: 1377.0})
    shown = page(member, arms)
    assert '<em class="up">+125 % output tok/s</em>' in shown
    assert "\u22120.2 %" in shown and 'class="down"' not in shown


def test_one_fact_under_two_names_is_told_once(member: Client, arms: tuple[Arm, Arm]) -> None:
    for arm, tokens in zip(arms, (102900, 102436), strict=True):
        run = make_measured_run(arm, {1: 100.0})
        run.attempts.update(startup={"max_total_num_tokens": tokens, "kv_cache_tokens": tokens})
    shown = page(member, arms)
    assert "effective 102,436" in shown and "kv_cache_tokens" not in shown


def test_a_simulated_campaign_is_called_so_before_it_is_opened(member: Client) -> None:
    campaign = make_campaign()
    host = make_host("demo", simulated=True)
    make_arm(campaign, host=host), make_arm(campaign, "steps=2", host=host)
    for url in ("/compare/", "/campaigns/", "/"):
        after = text(member.get(url)).partition(campaign.question)[2]
        assert 'class="simulated"' in after[:600], url


@pytest.mark.parametrize("key", ["²~3", "٣~٤", "9" * 5000 + "~1", "9" * 19 + "~1", "1~"])
def test_an_address_that_names_no_arms_is_not_found(member: Client, key: str) -> None:
    assert member.get("/compare/", {"arms": key}).status_code == 404
    assert member.post("/compare/share/", {"arms": key}).status_code == 404


def test_a_nul_names_no_arms_either(member: Client) -> None:
    assert member.get("/compare/", {"arms": "\0"}).status_code == 400  # by any page
    assert member.post("/compare/share/", {"arms": "\0"}).status_code == 404


def three_each(arms: tuple[Arm, Arm]) -> None:
    for spread in (1.0, 1.006, 0.994):
        make_measured_run(arms[0], {1: 100.0 * spread, 32: 900.0 * spread})
        make_measured_run(arms[1], {1: 150.0 * spread, 32: 909.0 * spread})


def test_several_launches_have_words_and_intervals(member: Client, arms: tuple[Arm, Arm]) -> None:
    three_each(arms)
    shown = page(member, arms)
    assert "likely better at 1, cannot tell at 32" in shown
    assert "a hint" not in shown
    assert "95 % interval" in shown and "Noise assumed: 1.5 % a launch" in shown
    assert "assumed noise 1.5 %</span>" in shown
    assert 'class="tile up"' in shown and 'class="tile unsure"' in shown
    assert re.search(r"about \d+ more repeats", shown)


def test_noise_that_is_assumed_at_some_levels_names_them(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    past = make_arm(make_campaign("earlier"), "earlier", steps=3, workload=arms[0].workload)
    for spread in (1.0, 1.01, 0.99, 1.005, 0.995):
        make_measured_run(past, {1: 100.0 * spread})
    three_each(arms)
    assert "assumed noise 1.5 % at 32</span>" in page(member, arms)


def test_a_shared_copy_keeps_the_words(member: Client, arms: tuple[Arm, Arm]) -> None:
    three_each(arms)
    frozen = snapshot(compare_arms(arms), [])
    (pair,) = frozen["pairs"]
    assert [row["word"] for row in pair["rows"]] == ["likely better", "cannot tell"]
    assert pair["rows"][0]["interval"].startswith("+")
    assert pair["judged"]["confidence"] == 0.95
    assert arms[0].host.name not in json.dumps(frozen)


def test_why_one_arm_is_faster_is_drawn_and_told_in_a_table(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    for arm, (tps, length) in zip(arms, ((1600.0, 1.9), (1900.0, 2.6)), strict=True):
        attempt = make_attempt(make_run(arm))
        make_level(attempt, 16, tps, started=1000.0, ended=1100.0)
        make_samples(make_stream(attempt), [tps] * 90, began=1005.0, accept_len=length)
    shown = page(member, arms)
    assert "Gain ledger at concurrency 16: occupancy 0 %, accept len +36.8 %" in shown
    assert "Break-even accept len <b>2.19</b>, now 2.60" in shown
    assert "it may lose 15.8 % of it" in shown
    assert "Output tok/s = occupancy" in shown


def test_without_a_log_it_says_whose_is_needed(member: Client, arms: tuple[Arm, Arm]) -> None:
    measure(arms)
    assert "Needs the server&#x27;s log of steps=1 and steps=2." in page(member, arms)


def test_a_shared_page_shows_the_interval_of_each_level(
    member: Client, client: Client, arms: tuple[Arm, Arm]
) -> None:
    three_each(arms)
    comparison = keep_comparison(arms=arms)
    frozen = snapshot(compare_arms(arms), [])
    token = share_comparison(comparison=comparison, snapshot=frozen, by=make_person(), seconds=None)
    shown = text(client.get(f"/s/{token}/"))
    small = frozen["pairs"][0]["rows"][1]
    assert f'<td class="hide-sm nowrap">{small["interval"]}</td>' in shown
    # tile and table say the same
    assert f'<span class="v">{small["change_words"]}</span>' in shown
    assert f'<td class="big unsure">{small["change_words"]}</td>' in shown


def test_no_rerun_is_offered_that_could_not_be_started(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    measure(arms)
    assert "Rerun with steps=3" in page(member, arms)
    arms[1].config.engine = "unknown"
    arms[1].config.save()
    assert "Rerun with steps=3" not in page(member, arms)


def test_two_engines_that_nobody_told_are_not_called_the_same(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    measure(arms)
    assert "engine not told" not in page(member, arms)
    ServerConfig.objects.update(engine="unknown")
    shown = page(member, arms)
    assert "engine not told" in shown and "same engine" not in shown
