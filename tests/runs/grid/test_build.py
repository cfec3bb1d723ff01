"""A campaign as a grid: values, changes, who is ahead, and the state of every cell."""

from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from runs.grid import METRICS, Cell, Grid, build, load
from runs.models import Campaign, Level, State
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

pytestmark = pytest.mark.django_db

STEPS_1 = {1: 122.0, 4: 400.0, 16: 1213.0}
STEPS_2 = {1: 183.0, 4: 543.0, 16: 1530.0}


def two_arms() -> Campaign:
    campaign = make_campaign()
    load_ = make_workload()
    make_arm(campaign, "steps=1", steps=1, workload=load_)
    make_arm(campaign, "steps=2", steps=2, workload=load_)
    return campaign


def grid_of(campaign: Campaign, metric: str = "output") -> Grid:
    (data,) = load([campaign])
    return build(data, METRICS[metric])


def cell(grid: Grid, arm: str, concurrency: int) -> Cell:
    row = next(row for row in grid.rows if row.concurrency == concurrency)
    return next(cell for cell in row.cells if cell.arm.name == arm)


def test_a_change_is_against_the_first_arm() -> None:
    campaign = two_arms()
    one, two = campaign.arms.all()
    make_measured_run(one, STEPS_1)
    make_measured_run(two, STEPS_2)
    found = cell(grid_of(campaign), "steps=2", 4)
    assert found.value == 543.0
    assert found.ratio == pytest.approx(1.3575)
    assert cell(grid_of(campaign), "steps=1", 4).ratio is None


def test_a_value_is_the_mean_of_the_launches() -> None:
    campaign = two_arms()
    one = campaign.arms.first()
    for value in (100.0, 110.0, 120.0):
        make_measured_run(one, {1: value})
    found = cell(grid_of(campaign), "steps=1", 1)
    assert found.value == 110.0
    assert [launch.x for launch in found.launches] == [10.0, 32.0, 54.0]


def test_the_other_metric_reads_the_other_column() -> None:
    campaign = two_arms()
    make_measured_run(campaign.arms.first(), {4: 400.0})
    assert cell(grid_of(campaign, "user"), "steps=1", 4).value == 100.0


@pytest.mark.parametrize(
    ("ours", "theirs", "lead"),
    [
        ([122], [183], "hint"),
        ([120, 122], [180, 183], "apart"),
        ([120, 122, 121], [180, 183, 181], "apart"),
        ([120, 190, 121], [180, 183, 181], "hint"),
    ],
)
def test_how_surely_an_arm_leads_follows_from_its_launches(
    ours: list[float], theirs: list[float], lead: str
) -> None:
    campaign = two_arms()
    for arm, values in zip(campaign.arms.all(), (ours, theirs), strict=True):
        for value in values:
            make_measured_run(arm, {1: value})
    assert cell(grid_of(campaign), "steps=2", 1).lead == lead


def test_an_arm_of_another_workload_has_no_change_and_never_leads() -> None:
    campaign = two_arms()
    one, _ = campaign.arms.all()
    warm = make_arm(campaign, "temp=0.7", steps=1, workload=make_workload(temperature=0.7))
    make_measured_run(one, {1: 100.0})
    make_measured_run(warm, {1: 300.0})
    grid = grid_of(campaign)
    found = cell(grid, "temp=0.7", 1)
    assert (found.value, found.ratio, found.lead) == (300.0, None, "")
    assert grid.columns[2].differs == "temperature"


def test_an_arm_on_another_host_is_marked() -> None:
    campaign = two_arms()
    make_arm(campaign, "elsewhere", host=make_host("llm-three"))
    assert [column.other_host for column in grid_of(campaign).columns] == [False, False, True]


def test_a_level_below_the_running_limit_is_capped() -> None:
    campaign = two_arms()
    run = make_run(campaign.arms.first())
    make_level(make_attempt(run, startup={"max_running_requests": 8}), 16, 900.0)
    grid = grid_of(campaign)
    assert [row.capped for row in grid.rows] == [False, False, True]
    assert grid.columns[0].limit == 8


def test_an_arm_that_has_no_such_level_caps_nothing_there() -> None:
    campaign = make_campaign()
    for name, limit, levels in (("off", 4096, (64, 128)), ("steps=1", 48, (64,))):
        arm = make_arm(campaign, name, workload=make_workload(levels))
        attempt = make_attempt(make_run(arm), startup={"max_running_requests": limit})
        for level in levels:
            make_level(attempt, level, 900.0)
    assert [(row.concurrency, row.capped) for row in grid_of(campaign).rows] == [
        (64, True),
        (128, False),
    ]


def test_one_cell_is_not_called_all() -> None:
    campaign = make_campaign()
    make_measured_run(make_arm(campaign, "a", workload=make_workload((4,))), {4: 400.0})
    assert grid_of(campaign).counts == "its cell complete"


def test_a_queued_run_says_why_it_waits_once() -> None:
    campaign = two_arms()
    make_run(campaign.arms.first(), state=State.QUEUED, waiting_for="llm-two is held by run 9")
    cells = [cell(grid_of(campaign), "steps=1", level) for level in (1, 4, 16)]
    assert {found.kind for found in cells} == {"queued"}
    assert [found.text for found in cells] == ["llm-two is held by run 9", "", ""]


def test_a_measuring_run_shows_how_far_its_level_is() -> None:
    campaign = two_arms()
    attempt = make_attempt(make_run(campaign.arms.first(), state=State.MEASURING))
    make_level(attempt, 1, 122.0)
    make_level(attempt, 4, None, state=Level.State.RUNNING, requests=24, done=6)
    make_level(attempt, 16, None, state=Level.State.PENDING)
    grid = grid_of(campaign)
    running = cell(grid, "steps=1", 4)
    assert (running.kind, running.progress) == ("running", 0.25)
    assert running.text == "launch 1: 6 of 24 requests"
    assert cell(grid, "steps=1", 1).kind == "measured"
    assert not cell(grid, "steps=1", 1).provisional
    assert cell(grid, "steps=1", 16).kind == "waiting"


def test_a_value_is_provisional_while_launches_are_to_come() -> None:
    campaign = two_arms()
    one = campaign.arms.first()
    make_measured_run(one, {1: 122.0})
    make_run(one, state=State.QUEUED)
    found = cell(grid_of(campaign), "steps=1", 1)
    assert found.provisional
    assert found.text == "launch 2 queued"


def test_a_failed_run_leaves_its_reason_and_keeps_the_levels_it_closed() -> None:
    campaign = two_arms()
    run = make_run(
        campaign.arms.first(), state=State.FAILED, reason_text="Out of memory in graph capture."
    )
    make_level(make_attempt(run), 1, 122.0)
    grid = grid_of(campaign)
    assert cell(grid, "steps=1", 1).value == 122.0
    failed = cell(grid, "steps=1", 4)
    assert (failed.kind, failed.text) == ("failed", "Out of memory in graph capture.")
    assert failed.run == run


def test_only_the_last_attempt_of_a_run_counts() -> None:
    campaign = two_arms()
    run = make_run(campaign.arms.first())
    make_level(make_attempt(run), 1, 1.0)
    make_level(make_attempt(run), 1, 122.0)
    assert cell(grid_of(campaign), "steps=1", 1).value == 122.0


def test_a_campaign_without_arms_is_an_empty_grid() -> None:
    grid = grid_of(make_campaign())
    assert (grid.rows, grid.columns, grid.counts) == ((), (), "no level measured")
    assert not grid.has_values


def test_the_counts_name_every_kind_of_cell() -> None:
    campaign = two_arms()
    one, two = campaign.arms.all()
    make_measured_run(one, {1: 122.0, 4: 400.0})
    make_run(two, state=State.QUEUED)
    assert grid_of(campaign).counts == "2 of 6 cells complete, 3 queued, 1 not measured"


def test_any_number_of_campaigns_takes_four_queries(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    campaigns = [two_arms() for _ in range(3)]
    for campaign in campaigns:
        for arm in campaign.arms.all():
            make_measured_run(arm, STEPS_1)
    with django_assert_num_queries(4):
        for data in load(campaigns):
            build(data, METRICS["output"])
