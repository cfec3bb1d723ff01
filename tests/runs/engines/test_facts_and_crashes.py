from pathlib import Path

from runs.engines.base import Event
from runs.engines.sglang.crash import why
from runs.engines.sglang.facts import startup_facts
from runs.engines.sglang.log import LogReader

CASES = Path(__file__).parents[2] / "cases"
H200 = Path(__file__).parents[3] / "showcase" / "h200-standalone-steps"


def events(data: bytes) -> list[Event]:
    reader = LogReader()
    return [each for each in reader.feed(data) + reader.finish() if isinstance(each, Event)]


def test_it_gathers_the_facts_of_a_real_start() -> None:
    facts = startup_facts(events((H200 / "steps-3.server.log").read_bytes()))
    assert facts["server_args"]["speculative_num_steps"] == 3
    expected = {
        "ready": True,
        "ready_at": "2026-11-29T18:29:40",
        "max_running_requests": 48,
        "limit_reset_to": 48,
        "max_total_num_tokens": 797201,
        "kv_cache_tokens": 797201,
        "context_len": 8192,
        "available_mem_gb": 10.41,
        "weights_s": 0.23,
        "graph_capture_s": 17.73,
    }
    assert {key: facts[key] for key in expected} == expected
    assert facts["graph_sizes"][-1] == 48
    assert facts["startup_timings"]["cuda_graph"]["target_verify"] == 2.24


def test_what_was_not_said_is_not_a_fact() -> None:
    assert startup_facts([]) == {"ready": False}


def test_the_last_of_two_lives_counts() -> None:
    one = b"[2026-01-01 00:00:00] server_args={'tp_size': 1}\n[2026-01-01 00:00:01] The server is "
    one += b"fired up and ready to roll!\n"
    two = b"[2026-01-01 00:10:00] Max running requests is reset to 48 for speculative decoding.\n"
    two += b"[2026-01-01 00:10:01] server_args={'tp_size': 2}\n"
    facts = startup_facts(events(one + two))
    assert facts["ready"] is False
    assert facts["server_args"] == {"tp_size": 2}
    assert facts["max_running_requests"] == 48


def test_the_reason_is_the_cause_and_not_the_teardown() -> None:
    data = (CASES / "sglang_log" / "x01-crash-in-graph-replay.log").read_bytes()
    assert why(events(data)) == "NoneType error while a CUDA graph was replayed"


def test_the_last_line_of_a_traceback_is_the_reason_where_nothing_better_is_known() -> None:
    data = (
        b"[2026-01-01 00:00:00] Scheduler hit an exception: Traceback (most recent call last):\n"
        b'  File "x.py", line 1, in <module>\n'
        b"AssertionError: the total number of ranks is too large\n"
    )
    assert why(events(data)) == "AssertionError: the total number of ranks is too large"


def test_an_import_error_that_is_only_mentioned_is_no_death() -> None:
    data = b"[2026-01-01 00:00:00] Responses API disabled (ImportError: cannot import name 'x')\n"
    assert events(data) == []
    assert why([]) is None
