"""Points in columns, and the readings above them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from runs.charts import columns, ratio, readings, step_rate


def line(seq: int = 1, **values: Any) -> Any:
    told = {
        "seq": seq,
        "time": 1000.0 + seq,
        "offset": seq * 100,
        "phase": "decode",
        "output_tps": 80.0,
        "accept_len": 2.0,
        "running": 4,
        "waiting": 0,
        "token_usage": 0.5,
        "tokens": 900,
    }
    return SimpleNamespace(**{**told, **values})


def test_it_gives_columns_of_equal_length() -> None:
    told = columns([line(7), line(8, output_tps=None)])
    assert (told["seq0"], told["n"], told["seq"]) == (7, 2, [7, 8])
    assert told["cols"]["output_tps"] == [80.0, None]
    assert {len(values) for values in told["cols"].values()} == {2}


def test_no_samples_have_no_first_number() -> None:
    assert columns([])["seq0"] is None


def test_readings_are_medians_of_decode_lines_only() -> None:
    lines = [line(1, output_tps=10.0), line(2, output_tps=90.0), line(3, output_tps=20.0)]
    told = readings([*lines, line(4, phase="prefill", output_tps=9999.0)], speculative=True)
    assert (told.lines, told.output_tps) == (3, 20.0)


def test_what_no_line_tells_stays_unknown() -> None:
    told = readings([line(1, accept_len=None, waiting=None)], speculative=True)
    assert (told.accept_len, told.waiting, told.steps) == (None, None, None)


def test_a_step_gives_each_running_request_its_accept_len() -> None:
    assert step_rate(line(output_tps=80.0, running=4, accept_len=2.0), speculative=True) == 10.0


def test_a_step_without_speculation_gives_one_token() -> None:
    assert step_rate(line(output_tps=80.0, running=4, accept_len=None), speculative=False) == 20.0


def test_an_idle_line_tells_no_step_rate() -> None:
    assert step_rate(line(running=0), speculative=False) is None


def test_a_ratio_needs_both_sides() -> None:
    assert (ratio(3.0, 2.0), ratio(None, 2.0), ratio(3.0, None), ratio(3.0, 0.0)) == (
        1.5,
        None,
        None,
        None,
    )
