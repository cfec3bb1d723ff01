"""The one sentence of a campaign."""

from __future__ import annotations

import pytest

from runs.grid import METRICS, build, headline, load
from runs.grid.logs import ImportedLog, lines_only
from runs.grid.spark import spark
from tests.factories import make_arm, make_campaign, make_measured_run, make_workload

pytestmark = pytest.mark.django_db


def says(*arms: tuple[str, dict[int, float]], launches: int = 1) -> str:
    campaign = make_campaign()
    workload = make_workload()
    for name, values in arms:
        arm = make_arm(campaign, name, workload=workload)
        for _ in range(launches):
            make_measured_run(arm, values)
    (data,) = load([campaign])
    return headline(build(data, METRICS["output"]))


def test_one_leader_is_named_with_its_smallest_and_largest_gain() -> None:
    said = says(("steps=1", {1: 122, 32: 1515}), ("steps=2", {1: 183, 32: 1673}))
    assert said == (
        "steps=2 leads at 1 and 32 (+10 % to +50 %) against steps=1. One launch each: a hint."
    )


def test_a_baseline_that_leads_somewhere_says_how_much_the_other_lost() -> None:
    said = says(("baseline", {1: 65, 128: 1493}), ("DFlash", {1: 70, 128: 1146}))
    assert said == (
        "DFlash leads at 1 (+8 %); baseline leads at 128 (DFlash \u221223 %). "
        "One launch each: a hint."
    )


def test_repeats_are_not_called_a_single_launch() -> None:
    assert "One launch" not in says(("a", {1: 100}), ("b", {1: 120}), launches=2)


def test_a_single_arm_says_what_it_reached() -> None:
    assert says(("MTP", {1: 67.6, 4: 234})) == "MTP: 67.6 output tok/s at 1, 234 at 4."


def test_nothing_measured_says_nothing() -> None:
    assert says(("a", {}), ("b", {})) == ""


def test_a_change_of_the_leader_is_told_between_its_levels() -> None:
    campaign = make_campaign()
    workload = make_workload((1, 4, 16))
    make_measured_run(make_arm(campaign, "a", workload=workload), {1: 100, 4: 200, 16: 900})
    make_measured_run(make_arm(campaign, "b", workload=workload), {1: 150, 4: 250, 16: 800})
    (data,) = load([campaign])
    grid = build(data, METRICS["output"])
    assert [row.crossover for row in grid.rows] == [
        "",
        "",
        "between 4 and 16: b leads below, a above.",
    ]


def test_curves_need_two_levels_of_an_arm() -> None:
    campaign = make_campaign()
    arm = make_arm(campaign, "a", workload=make_workload((1, 4)))
    make_measured_run(arm, {4: 200})
    (data,) = load([campaign])
    assert spark(build(data, METRICS["output"])) == []
    make_measured_run(arm, {1: 100})
    (data,) = load([campaign])
    (line,) = spark(build(data, METRICS["output"]))
    assert line.points == "4.0,17.0 116.0,4.0"


def test_nobody_leads_by_a_hint_of_less_than_matters() -> None:
    said = says(("none", {1: 60.0, 64: 1380.0}), ("steps=2", {1: 135.0, 64: 1377.0}))
    assert said == (
        "steps=2 leads at 1 (+125 %) against none. No difference that matters at 64. "
        "One launch each: a hint."
    )


def test_arms_alike_everywhere_are_called_so() -> None:
    assert says(("a", {1: 100.0}), ("b", {1: 101.0})) == "No difference that matters at 1."


def test_two_arms_alike_before_a_third_are_not_called_no_difference() -> None:
    said = says(
        ("steps=1", {1: 100.0, 32: 1381.0}),
        ("steps=2", {1: 134.0, 32: 1458.0}),
        ("steps=3", {1: 158.0, 32: 1479.0}),
    )
    assert said == (
        "steps=3 leads at 1 (+58 %) against steps=1. "
        "steps=2 and steps=3 are alike and ahead at 32 (+6 % to +7 %) against steps=1. "
        "One launch each: a hint."
    )


def test_a_baseline_alike_with_another_arm_is_told_beside_it() -> None:
    said = says(("off", {1: 100.0}), ("a", {1: 101.0}), ("b", {1: 60.0}))
    assert said == "off and a are alike and ahead at 1."


def test_a_long_log_without_a_level_is_counted() -> None:
    assert lines_only([]) == ""
    log = ImportedLog(run=None, samples=(), more=160_700, damaged=0)  # type: ignore[arg-type]
    assert lines_only([log]) == "160,700 log lines, no level."
