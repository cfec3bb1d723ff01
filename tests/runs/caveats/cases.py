"""For every rule what fires it and what nearly does: pure data, one entry a rule.

Facts and levels are what differs from "nothing is known" (of levels: one entry a level); arms are
what differs from an arm of which only the name is known.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    fires: Any
    near: Any
    severity: str
    measured: str  # stands in the remark: the value that fired it


ACCEPTED = ((3.99, 0.99),) * 3
LOG = {"client_tps": 1000.0, "log_seconds": 62.0, "log_lines": 60}

FACTS: dict[str, Case] = {
    "simulated-acceptance": Case(
        {"simulated": "SGLANG_SIMULATE_ACC_LEN=3"}, {"simulated": None}, "block", "ACC_LEN=3"
    ),
    "random-tokens": Case(
        {"prompt_set": "random-ids", "speculative": True},
        {"prompt_set": "random-ids", "speculative": False},
        "block",
        "random-ids",
    ),
    "restart-in-window": Case({"restarts": 2}, {"restarts": 0}, "block", "2 times"),
    "per-rank-throughput": Case(
        {"dp_size": 8, "dp_ranks": (3,)}, {"dp_size": 8, "dp_ranks": (3, 4)}, "block", "DP3"
    ),
    "greedy-sampling": Case(
        {"temperature": 0.0, "speculative": True},
        {"temperature": 0.01, "top_k": 2, "speculative": True},
        "warn",
        "Temperature 0",
    ),
    "ignore-eos": Case(
        {"ignore_eos": True, "speculative": True},
        {"ignore_eos": True, "speculative": False},
        "warn",
        "ignore_eos",
    ),
    "running-capped": Case(
        {"max_running_requests": 48, "levels": (16, 64)},
        {"max_running_requests": 64, "asked_running": 64, "levels": (16, 64)},
        "warn",
        "at most 48",
    ),
    "degenerate-output": Case(
        {"accept_pairs": ACCEPTED, "draft_tokens": 4},
        {"accept_pairs": ((3.96, 0.99),) * 3, "draft_tokens": 4},
        "warn",
        "99.7%",
    ),
    "retraction": Case({"retracted": 3}, {"retracted": 0}, "warn", "3 running requests"),
    "queueing": Case(
        {"lines": 100, "lines_waiting": 10, "waiting_max": 16},
        {"lines": 100, "lines_waiting": 9, "waiting_max": 16},
        "warn",
        "10 of 100",
    ),
    "cuda-graph-off": Case(
        {"lines_graph_told": 100, "lines_graph_off": 6},
        {"lines_graph_told": 100, "lines_graph_off": 5},
        "warn",
        "6 %",
    ),
    "client-log-gap": Case(
        {"client_tps": 1101.0, "log_tps": 1000.0},
        {"client_tps": 1100.0, "log_tps": 1000.0},
        "warn",
        "10 %",
    ),
    "accept-rate-definition": Case(
        {"accept_pairs": ((3.52, 0.88),), "draft_tokens": 4, "steps": 3},
        {"accept_pairs": ((3.52, 0.84),), "draft_tokens": 4, "steps": 3},
        "warn",
        "0.88",
    ),
    "parse-gap": Case({"lines": 94, "damaged": 6}, {"lines": 95, "damaged": 5}, "warn", "6 %"),
    "kv-pressure": Case({"usage_max": 0.96}, {"usage_max": 0.95}, "info", "96 %"),
    "idle-window": Case(
        {"lines": 20, "partial_lines": 2}, {"lines": 20, "partial_lines": 0}, "info", "2 of 20"
    ),
}

LEVELS: dict[str, Case] = {
    "failed-requests": Case(
        [{"requests": 100, "failed": 1}], [{"requests": 100, "failed": 0}], "block", "1 of 100"
    ),
    "foreign-load": Case(
        [{**LOG, "log_tps": 1100.0}], [{**LOG, "log_tps": 1060.0}], "block", "10 %"
    ),
    "stale-log": Case(
        [{"log_lines": 30, "log_interval": 2.0, "log_age": 9.0}],
        [{"log_lines": 30, "log_interval": 4.0, "log_age": 9.0}],
        "block",
        "9 s before",
    ),
    "thermal-throttle": Case(
        [{"gpus": {"slow": 20}}], [{"gpus": {"slow": 2}}], "warn", "in 20 of 50"
    ),
    "cache-flush-failed": Case(
        [{"flushed": False, "flush_answer": "busy"}], [{"flushed": True}], "warn", "level 8"
    ),
    "prefix-cache-warm": Case(
        [{"prompt_tokens": 9000, "cached_tokens": 900}],
        [{"prompt_tokens": 9000, "cached_tokens": 899}],
        "warn",
        "10 %",
    ),
    "accept-len-cumulative": Case(
        [{"accept_len_cumulative": 2.41}], [{"accept_len_cumulative": None}], "warn", "2.41"
    ),
    "cold": Case(
        [{"first": True, "step_fall": 0.31}], [{"first": True, "step_fall": 0.03}], "warn", "31 %"
    ),
    "handover": Case(
        [{"running_first": 11, "running_later": 8}],
        [{"running_first": 8, "running_later": 8}],
        "warn",
        "11 requests",
    ),
    "client-bottleneck": Case([{"client_cpu": 0.97}], [{"client_cpu": 0.9}], "warn", "97 %"),
    "open-loop-overload": Case(
        [{"asked_rate": 4.3, "served_rate": 4.0, "waiting_first": 2.0, "waiting_last": 40.0}],
        [{"asked_rate": 4.1, "served_rate": 4.0, "waiting_first": 2.0, "waiting_last": 40.0}],
        "warn",
        "2 to 40",
    ),
    "short": Case([{"seconds": 29.0}], [{"seconds": 30.0, "requests": 40}], "warn", "29 s"),
    "tail": Case(
        [{"tail_told": True, "requests": 499}],
        [{"tail_told": True, "requests": 500}],
        "warn",
        "499 requests",
    ),
    "search-edge": Case(
        [
            {"concurrency": 1, "output_tps": 90.0},
            {"concurrency": 4, "output_tps": 300.0},
            {"concurrency": 8, "output_tps": 500.0},
        ],
        [
            {"concurrency": 1, "output_tps": 90.0},
            {"concurrency": 4, "output_tps": 500.0},
            {"concurrency": 8, "output_tps": 499.0},
        ],
        "info",
        "concurrency 8",
    ),
}

HOUR = 3600.0
HERE = {"host": "llm-one", "GPU": "H200", "version": "0.5.9"}

ARMS: dict[str, Case] = {
    "env-differs": Case(
        [{"environment": HERE}, {"environment": {**HERE, "version": "0.5.11"}}],
        [{"environment": HERE}, {"environment": {"host": "llm-one"}}],
        "warn",
        "0.5.9 and 0.5.11",
    ),
    "unpaired": Case(
        [{"starts": (0.0,)}, {"starts": (7 * HOUR,)}],
        [{"starts": (0.0,)}, {"starts": (6 * HOUR,)}],
        "warn",
        "7 h apart",
    ),
    "one-launch": Case(
        [{"launches": 1, "repeated": 3}, {"launches": 3}],
        [{"launches": 2, "repeated": 3}, {"launches": 3}],
        "warn",
        "3 of A",
    ),
    "output-length-mismatch": Case(
        [{"output_lens": {8: 200.0}}, {"output_lens": {8: 205.0}}],
        [{"output_lens": {8: 200.0}}, {"output_lens": {8: 203.9, 16: 900.0}}],
        "warn",
        "200 tokens",
    ),
    "prefix-cache-warm": Case(
        [{"hit_rates": {8: 0.02}}, {"hit_rates": {8: 0.08}}],
        [{"hit_rates": {8: 0.02}}, {"hit_rates": {8: 0.07}}],
        "warn",
        "8 %",
    ),
    "queueing": Case(
        [{"lines": 100, "lines_waiting": 71}, {"lines": 100, "lines_waiting": 10}],
        [{"lines": 100, "lines_waiting": 71}, {"lines": 100, "lines_waiting": 60}],
        "warn",
        "71 %",
    ),
    "accept-rate-definition": Case(
        [{"accept_definition": "inclusive"}, {"accept_definition": "strict"}],
        [{"accept_definition": "inclusive"}, {"accept_definition": "inclusive"}],
        "block",
        "inclusive",
    ),
    "overlap-differs": Case(
        [{"overlap": True}, {"overlap": False}],
        [{"overlap": True}, {"overlap": None}],
        "info",
        "off in B",
    ),
}
