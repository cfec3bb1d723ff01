"""The rule of a look, and where the looks of a plan lie."""

from __future__ import annotations

import pytest

from runs.metrics.blocks import interleaved
from runs.metrics.looking import Decision, decide, may_stop, planned_looks
from runs.metrics.noise import Noise
from runs.metrics.verdict import Case, Judgement, verdict

KNOWN = Noise(0.01, 8.0, history=12)


def judged(ratio: float, *, spread: float = 0.002, looks: int = 3) -> Judgement:
    one = [{16: 1000 * (1 + spread * n)} for n in range(3)]
    two = [{16: 1000 * ratio * (1 + spread * n)} for n in range(3)]
    return verdict(Case(one, two, noise={16: KNOWN}, looks=looks))


@pytest.mark.parametrize(
    ("ratio", "decision"),
    [
        (1.10, Decision.BETTER),
        (0.90, Decision.WORSE),
        (1.012, Decision.GO_ON),
        (0.988, Decision.GO_ON),
    ],
)
def test_a_look_says_what_the_sweep_says(ratio: float, decision: Decision) -> None:
    assert decide(judged(ratio)) is decision


def test_equivalence_settles_too() -> None:
    quiet = Noise(0.002, 8.0, history=12)
    alike = [{16: 1000.0}, {16: 1001.0}, {16: 1000.5}]
    assert decide(verdict(Case(alike, alike, noise={16: quiet}, looks=3))) is Decision.EQUIVALENT


def test_a_plan_with_more_looks_asks_more_of_each() -> None:
    """At this size two looks settle what three do not: 2.94 against 2.21 % a look."""
    sizes = [1 + n / 1000 for n in range(5, 40)]
    first = {
        looks: next(size for size in sizes if decide(judged(size, looks=looks)) is Decision.BETTER)
        for looks in (1, 2, 3)
    }
    assert first[1] < first[2] < first[3]


def test_levels_that_contradict_each_other_settle_nothing() -> None:
    one = [{1: 100.0, 16: 1000.0}, {1: 100.1, 16: 1001.0}, {1: 99.9, 16: 999.0}]
    two = [{c: value * (1.2 if c == 1 else 0.8) for c, value in each.items()} for each in one]
    assert decide(verdict(Case(one, two, noise=dict.fromkeys((1, 16), KNOWN)))) is Decision.GO_ON


def test_an_unsafe_figure_settles_nothing() -> None:
    one, two = [{16: 1000.0}] * 3, [{16: 1500.0}] * 3
    case = Case(one, two, noise={16: KNOWN}, blocking=["the server restarted"])
    assert decide(verdict(case)) is Decision.GO_ON


def test_it_stops_once_every_arm_is_settled() -> None:
    assert may_stop([Decision.BETTER, Decision.EQUIVALENT])
    assert not may_stop([Decision.BETTER, Decision.GO_ON])
    assert not may_stop([])


@pytest.mark.parametrize(
    ("launches", "looks", "at"),
    [
        (7, 3, [3, 5, 7]),
        (9, 3, [3, 6, 9]),
        (7, 1, [7]),
        (8, 2, [4, 8]),
        (3, 3, [3]),  # an interval needs two launches, and looks lie two apart
        (2, 2, [2]),
        (1, 2, []),
    ],
)
def test_looks_lie_apart_and_end_with_the_plan(launches: int, looks: int, at: list[int]) -> None:
    assert planned_looks(launches, looks) == at


def test_no_plan_has_more_than_three_looks() -> None:
    with pytest.raises(ValueError, match="one to 3 looks"):
        planned_looks(9, 4)


def test_blocks_run_forth_and_back() -> None:
    assert interleaved("AB", 3) == [["A", "B"], ["B", "A"], ["A", "B"]]
    assert interleaved("ABC", 2) == [["A", "B", "C"], ["C", "B", "A"]]
