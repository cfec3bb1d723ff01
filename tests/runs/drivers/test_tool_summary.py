"""What real clients printed and wrote, to a level's figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runs.drivers.load_records import LevelEnd, LoadReader
from runs.drivers.registry import DRIVERS

CASES = Path(__file__).parents[2] / "cases" / "results" / "files"


def told(
    printed: bytes = b"", result: bytes = b"", requests: int = 48, **exit_: Any
) -> tuple[LevelEnd, bytes]:
    """A level of the bench stream with this in it, cut into pieces as the kit cuts."""
    ended = {"code": 0, "signal": None, "reason": "exited", "seconds": 3.0} | exit_
    start = {"type": "level_start", "level": 0, "concurrency": 8, "requests": requests, "t": 1.0}
    records = [start]
    for kind, data in (("output", printed), ("result", result)):
        for at in range(0, len(data), 3000):
            text = data[at : at + 3000].decode("utf-8", "replace")
            records.append({"type": kind, "level": 0, "text": text, "t": 2.0})
    window = {"start": 1.5, "end": 4.0, "by": "bar"}
    records.append(
        {"type": "level_end", "level": 0, "concurrency": 8, "t": 5.0, "window": window,
         "exit": ended, "result": None, "summary": {}}
    )  # fmt: skip
    stream = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    [end] = [r for r in LoadReader().feed(stream) if isinstance(r, LevelEnd)]
    return end, stream


def case(name: str) -> bytes:
    return (CASES / name).read_bytes()


def summary(driver: str, *args: Any, **named: Any) -> dict[str, Any]:
    return DRIVERS[driver].summary(*told(*args, **named))


def test_a_data_set_that_cannot_be_downloaded_is_said_with_what_to_do() -> None:
    found = summary("sglang_bench", case("sgl_bench_random_offline.txt"), requests=8, code=1)
    assert "LocalEntryNotFoundError" in found["problem"]
    assert found["problem"].endswith("or choose random-ids, which need none.")


def test_a_server_killed_under_vllms_client_leaves_an_exit_of_0_and_a_whole_result() -> None:
    printed, result = case("vllm_bench_killed_c4.txt"), case("vllm_bench_killed_c4.json")
    found = summary("vllm_bench", printed, result, requests=64)
    assert (found["requests"], found["completed"], found["failed"]) == (64, 12, 52)
    assert "problem" not in found and found["exit"]["code"] == 0
    assert found["failures"]


def test_sglangs_result_file_gives_the_exact_figures() -> None:
    found = summary(
        "sglang_bench", case("sgl_bench_ngram_c8.txt"), case("sgl_bench_ngram_c8.jsonl")
    )
    assert found["output_tps"] == pytest.approx(849.2190584624143, rel=1e-12)
    assert (found["requests"], found["completed"], found["failed"]) == (48, 48, 0)
    assert found["ttft"]["p50"] == pytest.approx(0.041058842)
    assert found["tpot"]["mean"] == pytest.approx(0.00826823659)
    assert found["user_tps"]["mean"] == pytest.approx(1 / 0.00826823659)
    assert "1 / TPOT" in found["formulas"]["user_tps"]
    assert found["prompt_tokens"] == 7312 and "problem" not in found


def test_without_the_file_the_printed_block_is_read() -> None:
    found = summary("sglang_bench", case("sgl_bench_ngram_c8.txt"))
    assert (found["output_tps"], found["failed"]) == (849.22, 0)


def test_an_appended_file_is_read_at_its_last_line() -> None:
    line = case("sgl_bench_ngram_c8.jsonl")
    old = line.replace(b'"output_throughput": 849', b'"output_throughput": 111')
    assert old != line
    assert summary("sglang_bench", b"", old + line)["output_tps"] == pytest.approx(
        849.219, rel=1e-5
    )


def test_requests_that_failed_with_status_0_are_read_from_the_output() -> None:
    found = summary("vllm_bench", case("vllm_bench_midload_kill.txt"), requests=96, code=0)
    assert (found["requests"], found["completed"], found["failed"]) == (96, 80, 16)
    assert "16 requests failed" in found["failures"][0]
    assert found["output_tps"] == 1151.45


def test_fewer_successes_than_requests_are_failures() -> None:
    found = summary("sglang_bench", b"", case("sgl_bench_ngram_c8.jsonl"), requests=50)
    assert found["failed"] == 2


def test_a_client_that_died_has_no_figures_and_says_why() -> None:
    found = summary("sglang_bench", case("sgl_bench_killed.txt"), requests=60, code=1)
    assert found["output_tps"] is None
    assert found["failed"] == 60
    assert "ended with exit status 1" in found["problem"]
    assert "Cannot connect to host" in found["problem"]


def test_a_status_alone_spoils_no_result() -> None:
    result = case("vllm_bench_ngram_c4.json")
    found = summary("vllm_bench", b"", result, requests=64, code=1)
    assert "problem" not in found
    assert found["exit"]["code"] == 1
    assert found["accept_len"] == pytest.approx(3.3533, rel=1e-4)


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        ({"code": None, "signal": 9}, "was killed by signal 9"),
        ({"reason": "time-limit"}, "was stopped at its time limit"),
        ({"code": None, "reason": "cannot-start", "message": "no such file"}, "could not be start"),
        ({"code": 0}, "ended with exit status 0 and told no result: last words"),
    ],
)
def test_how_a_tool_ended_stands_in_words(ended: dict[str, Any], words: str) -> None:
    assert words in summary("command", b"first\nlast words\n", **ended)["problem"]


LAST = {
    "throughline": 1, "requests": 10, "completed": 9, "output_tokens": 900, "duration_s": 4.5,
    "ttft": {"p50": 0.2}, "user_tps": {"mean": 33.0},
}  # fmt: skip


def test_a_commands_last_line_is_its_result() -> None:
    printed = b"warming up\n" + json.dumps(LAST).encode() + b"\n\n"
    found = summary("command", printed)
    assert (found["output_tps"], found["failed"], found["requests"]) == (200.0, 1, 10)
    assert (found["ttft"], found["user_tps"]) == ({"p50": 0.2}, {"mean": 33.0})


def test_a_commands_result_file_comes_first() -> None:
    file = json.dumps({**LAST, "output_tps": 7.5}).encode()
    assert summary("command", json.dumps(LAST).encode(), file)["output_tps"] == 7.5


def test_a_command_may_print_what_a_known_client_prints() -> None:
    assert summary("command", case("vllm_bench_ngram_c4.txt"))["output_tps"] == 399.51


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"output_tokens": None}, "output_tps"),
        ({"ttft": 3}, "ttft"),
        ({"requests": -1}, "requests"),
        ({"duration_s": "long"}, "duration_s"),
        ({"user_tps": {"mean": "x"}}, "mean"),
    ],
)
def test_a_last_line_with_a_wrong_value_names_the_key(change: dict[str, Any], key: str) -> None:
    found = summary("command", json.dumps({**LAST, **change}).encode())
    assert key in found["problem"]
    assert found["output_tps"] is None
