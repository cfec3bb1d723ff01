from __future__ import annotations

import re

from hosts.demo.simulator import loglines
from hosts.demo.simulator.loglines import DecodeFacts, PrefillFacts


def test_the_decode_line_with_speculation() -> None:
    facts = DecodeFacts(
        running=4,
        tokens=568,
        token_usage=0.0123,
        accept_len=3.02,
        draft_tokens=4,
        graph=True,
        gen_tps=781.417,
        queue=0,
    )
    assert loglines.decode(facts) == (
        "Decode batch, #running-req: 4, #token: 568, token usage: 0.01, accept len: 3.02, "
        "accept rate: 0.67, cuda graph: True, gen throughput (token/s): 781.42, #queue-req: 0"
    )


def test_the_decode_line_without_speculation_names_no_acceptance() -> None:
    facts = DecodeFacts(
        running=8,
        tokens=1301,
        token_usage=0.02,
        accept_len=None,
        draft_tokens=1,
        graph=False,
        gen_tps=323.26,
        queue=3,
    )
    assert loglines.decode(facts) == (
        "Decode batch, #running-req: 8, #token: 1301, token usage: 0.02, cuda graph: False, "
        "gen throughput (token/s): 323.26, #queue-req: 3"
    )


def test_the_prefill_line() -> None:
    facts = PrefillFacts(
        new_seq=15,
        new_tokens=5511,
        cached_tokens=0,
        token_usage=0.014,
        running=1,
        queue=0,
        pending_tokens=0,
        graph=True,
        input_tps=41050.071,
    )
    assert loglines.prefill(facts) == (
        "Prefill batch, #new-seq: 15, #new-token: 5511, #cached-token: 0, token usage: 0.01, "
        "#running-req: 1, #queue-req: 0, #pending-token: 0, cuda graph: True, "
        "input throughput (token/s): 41050.07"
    )


def test_the_retraction_line() -> None:
    assert loglines.retraction(1, 225, 0.06049, 0.59361) == (
        "KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_tokens_gained: 225, "
        "#new_token_ratio: 0.0605 -> 0.5936"
    )


def test_the_capacity_line() -> None:
    assert loglines.capacity(102436, 8192, 16384, 21, 32768, 11.366) == (
        "max_total_num_tokens=102436, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        "max_running_requests=21, context_len=32768, available_gpu_mem=11.37 GB"
    )


def test_the_timings_line() -> None:
    line = loglines.timings(0.15, 0.41, 22.66, {"prefill": 9.74, "decode": 0.0}, 41.54)
    assert line == (
        "Engine startup timings (s): load_weight=0.15, kv_cache_allocation=0.41, "
        "scheduler_e2e=22.66, cuda_graph={prefill=9.74, decode=0.00}, tokenizer_e2e=41.54"
    )


def test_capture_lines_name_sizes_and_memory() -> None:
    begin = loglines.capture_begin("target verify", "full", "num_tokens_per_req=3, bs", [1, 2], 9)
    assert begin == (
        "Capture target verify CUDA graph begin. backend=full, num_tokens_per_req=3, bs=[1, 2], "
        "avail mem=9.00 GB"
    )
    assert re.fullmatch(
        r"Capture target verify CUDA graph end\. elapsed=2\.30 s, mem usage=0\.14 GB, "
        r"avail mem=11\.78 GB\.",
        loglines.capture_end("target verify", 2.3, 0.14, 11.78),
    )


def test_a_progress_bar_is_one_physical_line_of_carriage_returns() -> None:
    bar = loglines.capture_bar("batches (bs", [1, 2, 4], 9.0)
    assert "\n" not in bar
    assert bar.count("\r") == 3
    assert "Capturing batches (bs=4 avail_mem=9.00 GB):  33%" in bar
