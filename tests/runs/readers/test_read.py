import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.readers import read

LINE = (
    b"[2026-11-10 09:00:11 TP0] Decode batch, #running-req: 1, #token: 271, token usage: 0.00, "
    b"cuda graph: True, gen throughput (token/s): 92.40, #queue-req: 0\n"
)
HEADER = b"arm,concurrency,per_request_tok_s,aggregate_tok_s\n"


def test_the_exchange_form_has_the_agreed_names() -> None:
    found = read(LINE, "pasted").as_json()
    assert found["kind"] == "sglang-log"
    assert found["samples"] == [
        {
            "phase": "decode",
            "ts": "2026-11-10T09:00:11",
            "rank": "TP0",
            "running_req": 1,
            "queue_req": 0,
            "tokens": 271,
            "token_usage": 0.0,
            "cuda_graph": True,
            "gen_throughput": 92.4,
            "offset": 0,
            "line": 1,
        }
    ]
    assert found["ignored_lines"] == found["rejected_lines"] == 0
    assert found["rows"] == found["events"] == found["caveats"] == []


def test_the_journal_is_taken_off_and_its_host_kept() -> None:
    journal = b"Nov 10 09:00:11 node-7 sglang-qwen[4321]: "
    death = b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB.\n"
    reading = read(journal + LINE + journal + death, "j")
    assert reading.context == {"carrier": "journal", "hosts": ["node-7"], "pids": [4321]}
    assert [each.kind for each in reading.events] == ["crash"]
    assert reading.samples[0].rank == "TP0"
    assert reading.events[0].offset == len(journal + LINE)


def test_settings_in_the_paste_are_the_context() -> None:
    command = (
        b"$ SGLANG_SIMULATE_ACC_LEN=2.6 python3 -m sglang.launch_server --model-path /m --tp 8 "
        b"--speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1\n"
        b'$ curl -s http://h:1/v1/chat/completions -d \'{"temperature":0,"max_tokens":600}\'\n'
    )
    context = read(command + LINE, "p").context
    expected = {
        "spec_algorithm": "EAGLE",
        "spec_num_steps": 3,
        "spec_topk": 1,
        "tp": 8,
        "simulate_acc_len": 2.6,
        "temperature": 0.0,
        "max_tokens": 600,
    }
    assert {key: context[key] for key in expected} == expected
    assert "greedy-sampling" in [each.slug for each in read(command + LINE, "p").caveats]


def test_a_results_table_becomes_rows_and_a_bad_row_is_damaged() -> None:
    data = HEADER + b'"a, b",1,26.7,26.7\nb,4,,234\nc,x,1,1\nd,1,-3,1\ne,1,nan,1\nf,1,2\n,1,2,3\n\n'
    reading = read(data, "results.csv")
    assert reading.kind == "bench-result"
    assert [(row.arm, row.user_tps, row.output_tps) for row in reading.rows] == [
        ("a, b", 26.7, 26.7),
        ("b", None, 234.0),
    ]
    assert [(each.line, each.reason) for each in reading.damaged] == [
        (4, "'x' is no concurrency"),
        (5, "'-3' is no speed"),
        (6, "'nan' is no speed"),
        (7, "3 cells where the header has 4"),
        (8, "no arm is named"),
    ]
    assert data[reading.rows[1].offset :].startswith(b"b,4")


def test_a_table_with_a_byte_order_mark_and_windows_line_ends() -> None:
    data = b"\xef\xbb\xbf" + HEADER.replace(b"\n", b"\r\n") + b"a,1,2,3\r\n"
    assert [row.output_tps for row in read(data, "x").rows] == [3.0]


@pytest.mark.parametrize("data", [b"", b"\n\n", b"hello\nworld\n", b"\x00\xff" * 50, b"{}"])
def test_what_is_nothing_we_know_says_so(data: bytes) -> None:
    reading = read(data, "x")
    assert (reading.kind, reading.samples, reading.rows) == ("unknown", (), ())


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from([LINE, LINE[:90], HEADER, b"a,1,2,3\n", b"\xff\n"]) | st.binary()))
def test_nothing_raises_and_every_answer_is_json(parts: list[bytes]) -> None:
    answer = read(b"".join(parts), "x").as_json()
    json.dumps(answer, allow_nan=False)


def test_no_secret_of_a_launch_command_is_told() -> None:
    """A command in front of the samples becomes the heading of its part of the text."""
    line = (
        "[2026-05-12 20:35:0{}] Decode batch, #running-req: 8, #token: 1001, token usage: 0.10, "
        "cuda graph: True, gen throughput (token/s): 800.00, #queue-req: 0\n"
    )
    command = "HF_TOKEN=hush-hush-1 python -m sglang.launch_server --model m --api-key hush-2\n"
    reading = read((command + line.format(1) + command + line.format(2)).encode(), "paste")
    assert "--model m" in json.dumps(reading.as_json()["segments"])
    assert "hush" not in json.dumps(reading.as_json())
