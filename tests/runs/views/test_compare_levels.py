"""The table of levels: which figure, which rows, in which order, and what an open row tells."""

from __future__ import annotations

import html
import math
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from runs.models import Arm, Level, State
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_level,
    make_run,
    make_samples,
    make_stream,
)
from tests.signed_in import text

pytestmark = pytest.mark.django_db

# of each arm and level: output tok/s and TTFT
TOLD = (
    {1: (100.0, 0.050), 16: (1000.0, 0.100), 64: (2000.0, 0.400)},
    {1: (150.0, 0.040), 16: (1001.0, 0.100), 64: (1800.0, 0.300)},
)


@pytest.fixture
def arms() -> tuple[Arm, Arm]:
    """Six launches of each, in blocks: better at 1, the same at 16, worse at 64."""
    campaign = make_campaign()
    pair = make_arm(campaign), make_arm(campaign, "steps=2", steps=2)
    began = timezone.now() - timedelta(hours=3)
    for i in range(6):
        for place, (arm, told) in enumerate(zip(pair, TOLD, strict=True)):
            run = make_run(arm, started_at=began + timedelta(minutes=20 * i + 9 * place))
            attempt = make_attempt(run)
            for concurrency, (tps, ttft) in told.items():
                near = math.exp(0.001 * (i - 2.5))
                make_level(attempt, concurrency, tps * near, ttft_s=ttft * near)
    return pair


def page(member: Client, arms: tuple[Arm, ...], query: str = "") -> str:
    key = "~".join(str(arm.pk) for arm in arms)
    return text(member.get(f"/compare/?arms={key}{query}"))


def table(shown: str) -> str:
    return shown.partition('id="levels"')[2].partition("</section>")[0]


def rows(shown: str) -> list[str]:
    return re.findall(r'data-row="(\d+)"', table(shown))


def row(shown: str, concurrency: int) -> str:
    return table(shown).partition(f'data-row="{concurrency}"')[2].partition("</tr>")[0]


def test_levels_stand_in_their_order_unless_the_factor_is_asked_for(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    assert rows(page(member, arms)) == ["1", "16", "64"]
    assert rows(page(member, arms, "&sort=factor"))[-1] == "16"


def test_what_is_no_different_can_be_hidden_and_is_counted(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    shown = page(member, arms, "&hide=1")
    assert rows(shown) == ["1", "64"]
    assert "1 of 3 levels hidden because of “no difference” is hidden" in shown


def test_a_filter_that_hides_everything_is_named_and_can_be_taken_back(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    shown = page(member, arms, "&filter=nonsense&sort=factor")
    assert rows(shown) == []
    assert "Every level is hidden." in shown and "“nonsense”" in shown
    key = f"{arms[0].pk}~{arms[1].pk}"
    assert f'<a href="?arms={key}&amp;sort=factor">Show them</a>' in shown


def test_a_number_filters_that_level_alone(member: Client, arms: tuple[Arm, Arm]) -> None:
    assert rows(page(member, arms, "&filter=1")) == ["1"]
    assert rows(page(member, arms, "&filter=worse")) == ["64"]


def test_another_figure_is_judged_by_its_own_direction(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    shown = page(member, arms, "&metric=ttft_p50")
    first = row(shown, 1)
    assert "50.0 ms" in first and "40.0 ms" in first
    assert "+20" in first and "20.00 % lower" in first  # less TTFT is better, so plus
    assert "suggests" in first and "better" in first
    assert "What it says only suggests" in shown and "Less is better" in shown


def test_a_figure_that_nobody_measured_says_where_it_comes_from(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    shown = page(member, arms, "&metric=steps")
    assert "No step rate was read: it comes from the server&#x27;s log." in shown


def test_step_rates_come_from_the_lines_of_the_log(member: Client) -> None:
    campaign = make_campaign()
    pair = make_arm(campaign), make_arm(campaign, "steps=2", steps=2)
    for arm, accepted in zip(pair, (1.5, 2.0), strict=True):
        for i in range(2):
            attempt = make_attempt(make_run(arm))
            stream, began = make_stream(attempt), 1_780_000_000.0 + 3600 * i
            make_level(attempt, 16, 1600.0, started=began - 1, ended=began + 61)
            make_samples(stream, [1600.0] * 60, began=began, running=16, accept_len=accepted)
    found = row(page(member, pair, "&metric=steps"), 16)
    assert "66.7" in found and "50.0" in found  # 1,600 / (16 × 1.5), 1,600 / (16 × 2)
    assert "worse" in found


def test_an_open_row_lists_its_launches_and_how_to_say_it_again(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    shown = table(page(member, arms, "&open=16"))
    for arm in arms:
        for run in arm.runs.all():
            assert f'href="/runs/{run.pk}/"' in shown
    assert "assumed" in shown
    assert "manage.py verdict --metric output_tps --delta 0.02 --baseline 997.503,998.501," in shown
    assert shown.count('aria-expanded="true"') == 1


def test_a_failed_launch_stays_in_its_cell_with_what_it_said(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    bad = make_run(
        arms[1],
        state=State.FAILED,
        reason_text="The server died.\nLast lines of the server log:\nloading\nCUDA error: OOM",
    )
    make_level(make_attempt(bad), 64, None, state=Level.State.CUT)
    shown = table(page(member, arms))
    assert f'href="/runs/{bad.pk}/#log"' in shown and "CUDA error: OOM" in shown


def test_an_address_with_unknown_values_says_so(member: Client, arms: tuple[Arm, Arm]) -> None:
    shown = page(member, arms, "&metric=speed&base=9&mine=1")
    assert "metric=speed" in shown and "base=9" in shown
    assert "mine=1" in table(shown)


def test_the_base_may_be_another_arm(member: Client, arms: tuple[Arm, Arm]) -> None:
    assert "base=9999" in page(member, arms, f"&base={'9' * 5000}")
    shown = page(member, arms, "&base=2")
    assert f"?arms={arms[0].pk}~{arms[1].pk}" in shown and "−33" in row(shown, 1)


def test_of_many_arms_one_is_looked_at(member: Client, arms: tuple[Arm, Arm]) -> None:
    third = make_arm(arms[0].campaign, "steps=3", steps=3)
    make_level(make_attempt(make_run(third)), 16, 3000.0)
    shown = page(member, (*arms, third), "&arm=C")
    assert rows(shown) == ["1", "16", "64"]
    assert "3,000" in row(shown, 16) and "+200 %" in row(shown, 16)
    assert "All arms" in shown


def test_the_others_levels_are_asked_for_when_their_fold_is_opened(
    member: Client, arms: tuple[Arm, Arm]
) -> None:
    third = make_arm(arms[0].campaign, "steps=3", steps=3)
    make_level(make_attempt(make_run(third)), 16, 3000.0)
    shown = page(member, (*arms, third), "&metric=user_tps&sort=factor")
    [fold] = re.findall(r'<p class="fold".*?</p>', table(shown))
    assert "steps=3</b> against steps=1" in fold
    asked = re.findall(r'(?:href|hx-get)="([^"]+)"', fold)
    look, alone = (html.unescape(address) for address in asked)
    assert "sort=factor" in look and "metric=user_tps" in look and look.endswith("#levels")
    plain = text(member.get(f"/compare/{look.partition('#')[0]}"))
    assert "3,000" not in table(shown) and "per user" in table(plain)
    assert 'aria-current="true">steps=3</a>' in plain
    opened = text(member.get(alone))
    assert opened.startswith("<details") and "3,000" in opened and "+200 %" in opened
    assert 'id="l16"' not in opened  # that is the row of the arm that is looked at


def test_a_fold_of_no_arm_or_of_nothing_is_not_found(member: Client, arms: tuple[Arm, Arm]) -> None:
    key = f"{arms[0].pk}~{arms[1].pk}"
    for path in (f"levels/?arms={key}&arm=A", f"levels/?arms={key}", f"keys/?arms={key}&arm=B"):
        assert member.get(f"/compare/folds/{path}").status_code == 404


def test_everything_equal_is_a_result(member: Client) -> None:
    campaign = make_campaign()
    pair = make_arm(campaign), make_arm(campaign, "steps=2", steps=2)
    for i in range(6):
        for arm in pair:
            attempt = make_attempt(make_run(arm))
            for c in (1, 16):
                make_level(attempt, c, 100.0 * c * (1 + 0.001 * (i % 3)))
    shown = page(member, pair)
    assert "No difference larger than 2 % at any level: equivalence is shown at 2 of 2." in shown


def test_arms_without_a_level_in_common_name_theirs(member: Client) -> None:
    campaign = make_campaign()
    pair = make_arm(campaign), make_arm(campaign, "steps=2", steps=2)
    for arm, levels in zip(pair, ((1, 4), (8, 16)), strict=True):
        attempt = make_attempt(make_run(arm))
        for c in levels:
            make_level(attempt, c, 100.0)
    shown = page(member, pair)
    assert "No level was measured in both arms." in shown
    assert "1, 4" in shown and "8, 16" in shown


def test_repeats_that_still_run_are_counted(member: Client, arms: tuple[Arm, Arm]) -> None:
    run = make_run(arms[1], state=State.MEASURING)
    shown = page(member, arms)
    assert "steps=2: 6 of 7 launches done" in shown
    assert f'href="/runs/{run.pk}/"' in shown
    assert 'hx-trigger="every 20s"' in shown
