"""The gain ledger: exact sums, the published vector, both engines' lines."""

import math
import random
from dataclasses import replace
from itertools import pairwise

import pytest

from runs.metrics.ledger import Told, ledger
from runs.metrics.passes import Factors, Line, factors, inside


def launch(occupancy: float, length: float, steps: float, rho: float = 1.0) -> Told:
    tps = occupancy * length * steps
    return Told(tps * rho, Factors(tps, occupancy, length, steps, lines=40))


def middle(arm: list[Told]) -> float:
    return sum(math.log(each.client_tps) for each in arm) / len(arm)


def test_the_published_vector() -> None:
    found = ledger([launch(31.6, 2.40, 50.0)], [launch(31.6, 3.08, 42.6)])
    told = {bar.key: bar.d for bar in found.bars}
    assert told["occupancy"] == pytest.approx(0, abs=1e-12)
    assert told["accept_len"] == pytest.approx(0.24946, abs=1e-5)
    assert told["steps"] == pytest.approx(-0.16017, abs=1e-5)
    assert told["remainder"] == pytest.approx(0, abs=1e-12)
    assert found.ratio == pytest.approx(4146.1728 / 3792.0)
    assert found.break_even == pytest.approx(2.816901, abs=1e-6)
    assert found.margin == pytest.approx(0.0854, abs=1e-4)


def test_bars_add_up_to_the_headline_whatever_the_figures() -> None:
    dice = random.Random(5)

    def arm() -> list[Told]:
        ranges = ((1, 64), (1, 4), (5, 200), (0.7, 1.1))
        return [
            launch(*(dice.uniform(*ends) for ends in ranges)) for _ in range(dice.randint(1, 5))
        ]

    for _ in range(100):
        before, after = arm(), arm()
        found = ledger(before, after)
        headline = middle(after) - middle(before)
        assert math.fsum(bar.d for bar in found.bars) == pytest.approx(headline, abs=1e-12)
        assert found.d == pytest.approx(headline, abs=1e-12)


def test_at_the_break_even_the_arms_are_alike() -> None:
    first, second = launch(31.6, 2.40, 50.0), launch(30.1, 3.08, 42.6)
    even = ledger([first], [second]).break_even
    assert even is not None
    found = ledger([first], [launch(30.1, even, 42.6)])
    assert found.d == pytest.approx(0, abs=1e-12)
    assert found.margin == pytest.approx(0, abs=1e-12)


def test_what_client_and_log_tell_apart_is_a_bar_of_its_own() -> None:
    found = ledger([launch(16, 2, 50)], [launch(16, 2, 50, rho=0.9)])
    told = {bar.key: bar.ratio for bar in found.bars}
    assert told["remainder"] == pytest.approx(0.9)
    assert found.ratio == pytest.approx(0.9)


def test_single_launches_have_no_interval_and_several_have() -> None:
    alone = ledger([launch(16, 2, 50)], [launch(16, 3, 40)])
    assert {bar.low for bar in alone.bars} == {None}
    many = ledger(
        [launch(16, 2, 50), launch(16, 2.02, 50)], [launch(16, 3, 40), launch(16, 3.1, 40)]
    )
    for bar in many.bars:
        assert bar.low is not None and bar.high is not None
        assert bar.low < bar.ratio < bar.high
    assert many.launches == (2, 2)


def test_without_accept_len_it_is_split_in_two() -> None:
    bare = Told(700, Factors(800, 16, None, None, 30))
    found = ledger([launch(16, 2, 25)], [bare])
    assert [bar.key for bar in found.bars] == ["occupancy", "per_request", "remainder"]
    assert found.ratio == pytest.approx(700 / 800)
    assert (found.break_even, found.margin) == (None, None)


def test_without_a_log_it_says_whose_is_missing() -> None:
    found = ledger([launch(16, 2, 25)], [Told(700, None)], ("steps=1", "steps=2"))
    assert (found.bars, found.missing) == ((), "needs the server's log of steps=2")


def test_an_arm_that_does_not_speculate_has_no_break_even() -> None:
    assert ledger([launch(16, 2, 25)], [launch(16, 1, 60)]).break_even is None


def line(tps: float, running: float, length: float | None, time: float = 0, **more: object) -> Line:
    return replace(Line(time, 0.0, tps, running, length), **more)  # type: ignore[arg-type]


def test_lines_of_equal_passes_weigh_slow_ones_by_their_time() -> None:
    """Two lines of 40 passes: at 100 and at 50 passes a second they take 0.4 and 0.8 s."""
    found = factors(
        [line(16 * 2.0 * 100, 16, 2.0), line(8 * 3.0 * 50, 8, 3.0)],
        equal="passes", speculative=True,
    )  # fmt: skip
    assert found is not None
    assert found.steps == pytest.approx(80 / 1.2)
    assert found.accept_len == pytest.approx((16 * 2 + 8 * 3) / (16 + 8))
    assert found.tps == pytest.approx(40 * (16 * 2 + 8 * 3) / 1.2)
    assert found.occupancy == pytest.approx(12)
    assert found.tps == pytest.approx(found.occupancy * found.accept_len * found.steps)


def test_a_line_that_holds_a_prefill_is_none_of_the_step_rate() -> None:
    """Nine lines at 50 passes a second, and one that a prompt has made three times as long."""
    told = [line(16 * 2.0 * 50, 16, 2.0)] * 9 + [line(16 * 2.0 * 50 / 3, 16, 2.0)]
    found = factors(told, equal="passes", speculative=True)
    assert found is not None
    assert (found.steps, found.occupancy, found.accept_len) == pytest.approx((50, 16, 2.0))
    assert found.tps == pytest.approx(16 * 2.0 * 50)


def test_lines_of_equal_seconds_weigh_alike() -> None:
    found = factors([line(3200, 16, 2.0), line(1200, 8, 3.0)], equal="seconds", speculative=True)
    assert found is not None
    assert found.tps == pytest.approx(2200)
    assert found.steps == pytest.approx((100 + 50) / 2)
    assert found.accept_len == pytest.approx(4400 / (1600 + 400))
    assert found.tps == pytest.approx(found.occupancy * (found.accept_len or 0) * found.steps)


def test_ranks_add_up_and_work_in_step() -> None:
    ranks = [line(16 * 2.0 * 50, 16, 2.0, rank=f"DP{n}") for n in range(4)]
    found = factors(ranks, equal="passes", speculative=True)
    assert found is not None
    assert (found.occupancy, found.accept_len, found.steps) == pytest.approx((64, 2.0, 50))


def test_without_speculation_a_pass_gives_each_request_one_token() -> None:
    found = factors([line(800, 16, None)], equal="passes", speculative=False)
    assert found is not None and (found.accept_len, found.steps) == (1, 50)


def test_speculation_that_tells_no_accept_len_tells_no_steps() -> None:
    told = [line(800, 16, None), line(900, 16, 2.0)]
    found = factors(told, equal="passes", speculative=True)
    assert found is not None and (found.accept_len, found.steps) == (None, None)
    assert found.per_request == pytest.approx(found.tps / 16, rel=0.35)


def test_idle_lines_tell_nothing() -> None:
    assert factors([line(0, 0, None)], equal="passes", speculative=False) is None


def test_step_times_come_from_no_stamp() -> None:
    """A server of 20 ms steps, stamps cut to whole seconds: the lines' own figures are exact."""
    told, now = [], 1000.0
    for _ in range(60):
        now += 40 * 0.020
        told.append(line(16 * 2.5 / 0.020, 16, 2.5, time=float(int(now))))
    found = factors(told, equal="passes", speculative=True)
    assert found is not None and found.steps == pytest.approx(50, rel=1e-9)
    assert {b.time - a.time for a, b in pairwise(told)} == {0.0, 1.0}


def test_lines_count_where_they_lie_inside_with_their_whole_length() -> None:
    told = [line(100, 1, None, time=t, seconds=2.0) for t in (11.0, 12.0, 14.0, 16.5)]
    assert [each.time for each in inside(told, 10.0, 16.0)] == [12.0, 14.0]
