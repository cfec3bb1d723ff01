"""Values that follow from the lines: what is not certain from them is left out."""

import json

import pytest

from runs.readers import read
from tests.runs.readers.test_variants import FIELD


def derived(text: str) -> dict:
    return read(text.encode(), "x").as_json()["derived"]


def decode(second: int, running: int, rest: str, tps: float) -> str:
    return (
        f"[2026-12-03 08:11:{second:02} TP0] Decode batch, #running-req: {running}, #token: 4000, "
        f"token usage: 0.05, {rest}, gen throughput (token/s): {tps:.2f}, #queue-req: 0\n"
    )


@pytest.mark.parametrize(
    ("pairs", "name", "value"),
    [
        ([(3.30, 1.10), (3.36, 1.12)], "spec_num_steps_implied", 3),
        ([(2.64, 1.32), (2.61, 1.31)], "spec_num_steps_implied", 2),
        ([(2.64, 1.32), (3.36, 1.12)], "spec_num_steps_implied", None),
        ([(4.97, 0.99), (4.98, 0.99)], "accept_len_ceiling_implied", 5),
        ([(2.84, 0.61)], "accept_len_ceiling_implied", None),
    ],
)
def test_settings_that_length_and_rate_imply(pairs: list, name: str, value: object) -> None:
    lines = [
        decode(second, 4, f"accept len: {length:.2f}, accept rate: {rate:.2f}, cuda graph: True", 9)
        for second, (length, rate) in enumerate(pairs)
    ]
    assert derived("".join(lines)).get(name) == value


def test_where_the_batch_changes_each_line_has_its_own_speed_of_a_user() -> None:
    text = "".join(
        decode(second, running, f"cuda graph: {graph}", tps)
        for second, (running, graph, tps) in enumerate([(10, True, 1000), (20, False, 800)])
    )
    assert derived(text)["per_request_tok_per_s"] == [100.0, 40.0]
    assert derived(text)["per_request_drop_at_cliff"] == pytest.approx(0.6)
    steady = decode(1, 10, "cuda graph: True", 1000) * 2
    assert derived(steady)["per_request_tok_per_s"] == 100.0
    assert "per_request_drop_at_cliff" not in derived(steady)


def test_parts_that_a_person_named_are_compared_by_their_names() -> None:
    text = "# A: steps=3\n" + decode(1, 1, "cuda graph: True", 90) * 3
    text += "# B: off\n" + decode(9, 1, "cuda graph: True", 60) * 3
    assert derived(text)["speedup_A_over_B"] == pytest.approx(1.5)


def test_a_life_cannot_accept_more_than_its_drafts_and_one() -> None:
    case = next(FIELD.glob("70-*.log")).read_text()
    found = derived(case)
    assert found["accept_len_ceiling_of_segment_0"] == 2
    assert found["accept_len_ceiling_of_segment_1"] == 4


@pytest.mark.parametrize(
    ("case", "name", "value"),
    [
        ("08", "interval_s", 10),
        ("19", "mamba_slots_total", 60),
        ("19", "slots_per_request", 4),
        ("28", "tokens_per_request_step", 3),
        ("32", "damaged_records", 3),
        ("32", "intact_records", 2),
        ("35", "gap_marked", True),
        ("71", "sm_clock_change", pytest.approx(-0.2348, abs=1e-4)),
        ("07", "attempts_at_concurrency_8", 2),
    ],
)
def test_what_the_field_cases_show(case: str, name: str, value: object) -> None:
    path = next(each for each in FIELD.glob(f"{case}-*") if "expect" not in each.name)
    assert read(path.read_bytes(), "x").as_json()["derived"][name] == value


ENGINE = (
    "INFO 05-12 20:35:{:02} [loggers.py:111] Engine 00{}: Avg prompt throughput: 10.0 tokens/s, "
    "Avg generation throughput: {:.1f} tokens/s, Running: 4 reqs, Waiting: 1 reqs, "
    "GPU KV cache usage: 12.5%, Prefix cache hit rate: 0.0%\n"
)


def test_engines_of_one_server_are_added() -> None:
    text = "".join(
        ENGINE.format(second, engine, 100 + engine) for second in (0, 10) for engine in (0, 1)
    )
    found = derived(text)
    assert found["gen_throughput_mean"] == pytest.approx(201)
    assert (found["running_req_max"], found["offered_concurrency_estimate"]) == (8, 10)


def test_no_mean_is_taken_over_two_engines() -> None:
    text = decode(1, 4, "cuda graph: True", 800) + ENGINE.format(2, 0, 500)
    found = derived(text)
    assert "gen_throughput_mean" not in found
    assert found["gen_throughput_mean_by_phase"] == {"decode": 800, "interval": 500}
    assert found["running_req_max"] == 4


def test_what_was_pasted_twice_counts_once() -> None:
    lines = decode(1, 4, "cuda graph: True", 800) + ENGINE.format(1, 0, 500)
    twice = lines.splitlines(keepends=True)
    again = twice[1] * 2 + ENGINE.format(11, 0, 600)
    assert derived(again)["gen_throughput_mean"] == pytest.approx(550)
    batches = twice[0] * 2 + decode(2, 4, "cuda graph: True", 900)
    found = derived(batches)
    assert (found["decode_lines"], found["gen_throughput_mean"]) == (3, pytest.approx(850))


def test_a_copied_result_is_no_repeat() -> None:
    told = {"backend": "sglang", "max_concurrency": 8, "duration": 10.5, "completed": 80}
    told |= {"total_input_tokens": 8010, "total_output_tokens": 8000, "mean_tpot_ms": 9.3}
    told |= {"request_throughput": 8.1, "input_throughput": 801.0, "mean_e2e_latency_ms": 900.1}
    speeds = (("a", 800.1), ("a", 800.1), ("b", 810.2), ("b", 810.2))
    rows = [
        json.dumps({**told, "tag": tag, "output_throughput": speed}) + "\n" for tag, speed in speeds
    ]
    reading = read("".join(rows).encode(), "x").as_json()
    assert len(reading["rows"]) == 4
    assert reading["derived"]["attempts"] == 2
    assert "cv" not in reading["derived"]
    assert "repeated-lines" in reading["caveats"]


def test_the_change_over_a_log_begins_with_its_first_whole_line() -> None:
    speeds = (400.0, 1000.0, 1010.0, 1020.0)
    lines = [decode(second, 4, "cuda graph: True", tps) for second, tps in enumerate(speeds)]
    found = derived("".join(lines))
    assert found["excluded_decode_indexes"] == [0]
    assert found["gen_throughput_change"] == pytest.approx(0.02)


def cut(rank: int, running: int, accept_len: str) -> str:
    """A line without its throughput, of a DP rank."""
    return (
        f"[2026-12-03 08:11:00 DP{rank} TP0] Decode batch, #running-req: {running}, #token: 400, "
        f"token usage: 0.05, accept len: {accept_len}, accept rate: 0.50, cuda gra\n"
    )


def table(heading: str, *rows: str) -> str:
    rule = "|---" * heading.count(",") + "|---|"
    lines = [f"| {row.replace(',', ' |')} |" for row in (heading, *rows)]
    return "\n".join([lines[0], rule, *lines[1:], ""])


def test_a_sum_over_ranks_needs_every_rank() -> None:
    found = derived(cut(0, 4, "2.10") + cut(1, 4, "2.20"))
    assert found["running_req_total"] == 8
    assert "gen_throughput_total_last" not in found


@pytest.mark.parametrize(
    "text",
    [
        cut(0, -4, "-1.00") + cut(0, 4, "2.10"),
        table("arm,c,output tok/s", "off,8,0", "off,8,0", "on,8,0", "on,8,0"),
        table("arm,c,output tok/s", "off,8,-1", "off,8,-2", "on,8,-1", "on,8,-2"),
        table("steps,concurrency,output tok/s", "0,8,-5", "1,8,-6", "2,8,-6"),
    ],
)
def test_numbers_that_no_tool_prints_raise_nothing(text: str) -> None:
    json.dumps(derived(text), allow_nan=False)
