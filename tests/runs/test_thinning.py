"""A long log in few points: real samples, extremes kept, and nothing lost behind the last one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from runs.charts import READ
from runs.thinning import FIRST_WIDTH, Thinner

TPS, ACCEPT = READ.index("output_tps"), READ.index("accept_len")


def row(seq: int, phase: str = "decode", **told: Any) -> tuple[Any, ...]:
    values = {
        "seq": seq,
        "time": 1e9 + seq,
        "offset": seq * 200,
        "phase": phase,
        "output_tps": 100.0,
        "accept_len": 2.5,
        "running": 16,
        "waiting": 0,
        "token_usage": 0.5,
        "tokens": seq,
        **told,
    }
    return tuple(values[name] for name in READ)


def noisy(count: int) -> list[tuple[Any, ...]]:
    dice = random.Random(4)
    return [
        row(
            n,
            output_tps=dice.random() * 100,
            accept_len=1 + dice.random() * 3,
            running=dice.randint(1, 40),
            token_usage=dice.random(),
        )
        for n in range(1, count + 1)
    ]


@pytest.mark.parametrize("most", [100, 2000, 4000])
@pytest.mark.parametrize("count", [1, 31, 5000, 70_003])
def test_points_are_few_and_real_and_in_order(count: int, most: int) -> None:
    rows = noisy(count)
    thinner = Thinner(most)
    thinner.take(rows)
    points = thinner.points()
    assert thinner.total == count
    assert len(points) <= most
    assert points[0] == rows[0] and points[-1] == rows[-1]
    numbers = [point[0] for point in points]
    assert numbers == sorted(set(numbers))
    assert set(points) <= set(rows)
    if count > 10 * most:
        assert len(points) > most / 4  # no coarser than it has to be


def test_a_spike_of_one_sample_survives_in_each_series() -> None:
    rows = noisy(50_000)
    spikes = {"output_tps": 9e9, "accept_len": 0.0, "running": 999, "waiting": 7}
    for i, (name, value) in enumerate(spikes.items()):
        at = 10_000 + 1111 * i
        rows[at] = row(at + 1, **{name: value})
    thinner = Thinner()
    thinner.take(rows)
    points = thinner.points()
    for name, value in spikes.items():
        assert value in [point[READ.index(name)] for point in points], name


def test_a_state_taken_up_again_gives_what_one_pass_gives() -> None:
    rows = noisy(30_000)
    once = Thinner(500)
    once.take(rows)
    first = Thinner(500)
    first.take(rows[:17_011])
    state = first.state()
    again = Thinner(500, state["width"], state["stretches"], first.upto, first.whole)
    again.take([each for each in rows if each[0] > first.upto])
    assert [tuple(p) for p in again.points()] == once.points()
    assert again.total == once.total


def test_what_is_not_drawn_costs_no_point_and_what_is_not_told_makes_no_value() -> None:
    thinner = Thinner()
    thinner.take([row(1, "prefill", output_tps=1e9)])
    assert thinner.points() == [] and thinner.total == 0
    thinner.take([row(2, output_tps=None, accept_len=None)])
    assert [p[TPS] for p in thinner.points()] == [None]


def test_a_second_line_tells_the_accept_len_of_the_line_before_it() -> None:
    """Also where a stretch ends between the two."""
    rows = []
    for n in range(1, 2 * FIRST_WIDTH + 1):
        rows.append(row(2 * n, "interval", accept_len=None))
        rows.append(row(2 * n + 1, "spec_interval", accept_len=float(n)))
    thinner = Thinner()
    thinner.take(rows)
    told = [point[ACCEPT] for point in thinner.points()]
    assert max(told) == 2 * FIRST_WIDTH
    assert float(FIRST_WIDTH) in told
    assert None not in told


def test_the_numbers_around_a_time_hold_every_sample_of_it() -> None:
    rows = noisy(20_000)
    rows[700] = row(701, time=1e9 + 15_000)  # a clock that jumped
    thinner = Thinner(400)
    thinner.take(rows)
    for start, end in ((1e9, 1e9 + 3), (1e9 + 9000, 1e9 + 9100), (1e9 + 14_999, 1e9 + 15_001)):
        low, high = thinner.between(start, end)
        held = [r[0] for r in rows if start <= r[1] <= end and r[0] <= thinner.upto]
        assert held and low <= min(held) and max(held) <= high
    assert thinner.between(1e9 + 9000, 1e9 + 9100)[1] < 11_000  # and not all others
    assert thinner.between(5.0, 6.0) == (0, 0)
