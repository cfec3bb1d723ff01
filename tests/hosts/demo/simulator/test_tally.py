from __future__ import annotations

import pytest

from hosts.demo.simulator.tally import DecodeTally


def steps(tally: DecodeTally, count: int, tokens: int = 10, requests: int = 4) -> list[bool]:
    return [tally.step(tokens, requests) for _ in range(count)]


def test_a_line_falls_on_every_multiple_of_the_interval() -> None:
    assert steps(DecodeTally(4, 0.0, True), 9).count(True) == 2


def test_it_divides_the_tokens_since_the_last_line_by_the_time_since_then() -> None:
    tally = DecodeTally(4, 10.0, True)
    steps(tally, 4)
    assert tally.line(12.0) == pytest.approx(2.5)
    assert tally.last_tps == pytest.approx(20.0)


def test_the_first_line_after_idling_contains_the_gap_and_the_steps_left_over() -> None:
    tally = DecodeTally(4, 0.0, False)
    steps(tally, 4)
    tally.line(1.0)
    steps(tally, 2)  # the rest of a burst, then nothing for a minute
    steps(tally, 2)
    assert tally.line(61.0) is None
    assert tally.last_tps == pytest.approx(40 / 60)


def test_a_flush_resets_counters_but_not_the_clock() -> None:
    tally = DecodeTally(4, 0.0, True)
    steps(tally, 4)
    tally.line(1.0)
    assert tally.mean_accept_len == pytest.approx(2.5)
    steps(tally, 3)
    tally.reset()
    assert tally.mean_accept_len is None
    assert steps(tally, 4) == [False, False, False, True]
    tally.line(11.0)
    assert tally.last_tps == pytest.approx(40 / 10)


def test_the_average_accept_len_runs_over_all_lines() -> None:
    tally = DecodeTally(1, 0.0, True)
    tally.step(8, 4)
    tally.line(1.0)
    tally.step(16, 4)
    tally.line(2.0)
    assert tally.mean_accept_len == pytest.approx(3.0)
