import time

import pytest

from runs.metrics.window import log_figures, partial_windows, trimmed
from tests.runs.samples import decode, prefill


def lines(*speeds: float, start: int = 0, running: int = 1) -> list:
    return [
        decode(output_tps=speed, second=start + index, running=running)
        for index, speed in enumerate(speeds)
    ]


def test_the_first_line_after_start_and_after_a_prefill_is_partial_when_it_is_slow() -> None:
    samples = [
        *lines(0.42, 92.4, 92.1, 91.9),
        prefill(second=460),
        *lines(0.09, 92.2, 92.3, start=461),
    ]
    assert partial_windows(samples) == {0, 4}
    assert len(trimmed(samples)) == 5


def test_the_first_line_after_a_gap_is_looked_at_too() -> None:
    samples = [*lines(92.0, 92.0, 92.0), *lines(9.0, 92.0, 92.0, start=600)]
    assert partial_windows(samples) == {3}


def test_a_first_line_at_full_speed_stays() -> None:
    assert partial_windows(lines(70.0, 92.0, 92.0)) == set()
    assert partial_windows(lines(64.0, 92.0, 92.0)) == {0}


def test_a_slow_line_in_the_middle_is_a_measurement() -> None:
    assert partial_windows(lines(92.0, 20.0, 92.0, 92.0)) == set()


def test_only_lines_at_the_same_load_are_compared() -> None:
    samples = lines(100.0, running=1) + lines(900.0, 910.0, start=1, running=16)
    assert partial_windows(samples) == set()


def test_ranks_are_looked_at_apart() -> None:
    samples = [
        decode(output_tps=speed, rank=rank, second=second)
        for second, speed in enumerate((5.0, 90.0, 91.0))
        for rank in ("DP0 TP0", "DP1 TP1")
    ]
    assert partial_windows(samples) == {0, 1}


def test_speed_sums_over_dp_ranks_and_never_over_tp_or_pp() -> None:
    dp = [decode(output_tps=100.0, rank=f"DP{i} TP{i}") for i in range(4)]
    assert log_figures(dp).output_tps == pytest.approx(400.0)
    tp = [decode(output_tps=100.0, rank=f"TP{i}") for i in range(4)]
    assert log_figures(tp).output_tps == pytest.approx(100.0)


def test_accept_len_of_a_partial_line_counts_and_its_speed_does_not() -> None:
    samples = [
        decode(output_tps=1.0, accept_len=2.0, second=0),
        decode(output_tps=100.0, accept_len=3.0, second=1),
        decode(output_tps=100.0, accept_len=3.0, second=2, waiting=7, running=1),
    ]
    figures = log_figures(samples)
    assert figures.output_tps == 100.0
    assert figures.accept_len == pytest.approx(8 / 3)
    assert (figures.decode_lines, figures.partial_lines) == (3, 1)
    assert (figures.running_max, figures.waiting_max) == (1, 7)


def test_nothing_gives_unknown_and_no_zero() -> None:
    figures = log_figures([])
    assert (figures.output_tps, figures.accept_len, figures.waiting_max) == (None, None, None)


def test_odd_times_are_no_gaps() -> None:
    samples = [decode(time=stamp) for stamp in (None, "25:99:99", "09:00:01", "x", "09:00:02")]
    assert partial_windows(samples) == set()


def test_it_is_linear_in_the_number_of_lines() -> None:
    def cpu(count: int) -> float:
        samples = [decode(second=index % 3600, output_tps=50.0) for index in range(count)]
        begin = time.process_time()
        partial_windows(samples)
        return time.process_time() - begin

    assert cpu(16_000) < 12 * cpu(4_000) + 0.5
