"""Every block of the two sample files gives what its `# expect:` line says.

The files are kept as they came. TABLE maps their field names to ours; WORDS what they say without
a value. A field that is in neither is looked for under its own name.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from runs.engines.base import rank_tags
from runs.metrics.acceptance import definition_of
from runs.readers import read

FOLDER = Path(__file__).parents[2] / "cases" / "samples"


class Block(NamedTuple):
    """`name` is '[ID]' and a number, `title` the remark beside it."""

    name: str
    title: str
    expect: str
    data: bytes


def blocks(file: str) -> Iterator[Block]:
    """Split a file at its remarks: '# [ID] …', '# expect: …', then lines of a log."""
    name, about, expect, lines, number = "", "", "", [], 0
    for line in (FOLDER / file).read_text().split("\n"):
        if line == "#" or line.startswith("# "):
            if lines and expect and any(each.strip() for each in lines):
                number += 1
                yield Block(f"{name}-{number}", about, expect, "\n".join([*lines, ""]).encode())
                expect = ""
            lines = []
            title, said = re.match(r"# \[(\w+)\]", line), re.match(r"# expect: (.*)", line)
            name, about = (title[1], line) if title else (name, about)
            expect = said[1] if said else expect
        else:
            lines.append(line)
    if lines and expect:
        yield Block(f"{name}-{number + 1}", about, expect, "\n".join(lines).encode())


# Their names to ours; a function makes our value theirs.
TABLE: dict[str, Any] = {
    "running": ("running_req", "running"),
    "queue": ("queue_req", "waiting"),
    "cpu_prefix_hit_pct": "cpu_percent",
    "compile_secs": "compile_s",
    "token": "tokens",
    "gen_tps": ("gen_throughput", "gen_throughput"),
    "input_tps": "input_throughput",
    "prompt_tps": "prompt_throughput",
    "graph": "cuda_graph",
    "prealloc_usage": "preallocated_usage",
    "retracted": ("retracted_req", "requests"),
    "unbootstrapped": "unbootstrapped_req",
    "transferring": "transferring_req",
    "iter": "iteration",
    "index": "iteration",
    "engine": ("engine_number", "engine"),
    "swapped": "swapped_req",
    "deferred": "deferred_req",
    "waiting": ("queue_req", "waiting"),
    "accepted": "accepted_tokens",
    "drafted": "drafted_tokens",
    "emitted": "emitted_tokens",
    "accepted_tps": "accepted_throughput",
    "drafted_tps": "drafted_throughput",
    "per_pos": "per_position",
    "k": "num_speculative_tokens",
    "ctx_reqs": "context_req",
    "ctx_tokens": "context_tokens",
    "gen_reqs": "generation_req",
    "gen_tokens": "generation_tokens",
    "ms": "step_ms",
    "device": ("kv_device", "device"),
    "proc": "process",
    "pid": ("process_pid", "pid", "pids"),
    "unit_pid": "pids",
    "actor_pid": "pids",
    "actor_ip": "hosts",
    "host": "hosts",
    "gib": ("mem_gb", "avail_gb"),
    "secs": "elapsed_s",
    "done": "done",
    "pct": "percent",
    "ctx": "context_len",
    "x": "max_concurrency",
    "wanted_frac": "wanted_fraction",
    "exit": "exit_code",
    "code": "exit_code",
    "proc_died": "name",
    "text": "told",
    "ratio_old": "ratio_old",
    "dist_init_mem_gb": "mem_gb",
    "mamba_cap": "max_running_requests",
    "available_gpu_mem_gb": "available_mem_gb",
    "spec_accept_length": "spec_accept_length",
    "max_concurrency": "concurrency",
    "output_tps": "output_tok_per_s",
    "accept_length": "accept_len",
    "p99_ttft_ms": "ttft_ms_p99",
    "max_itl_ms": "itl_ms_max",
    "completed": "completed",
    "graph_label": "graph_label",
}
PERCENTS = {
    "cache_hit_rate_pct": "cache_hit_rate",
    "fwd_occupancy": "fwd_occupancy",
    "fwd_idle_occupancy": "fwd_idle_occupancy",
    "kv_pct": "kv_usage",
    "cpu_kv_pct": "cpu_kv_usage",
    "accept_pct": "accept_rate",
    "ext_prefix_hit_pct": "external_prefix_hit_rate",
    "mm_hit_pct": "mm_hit_rate",
}
KINDS = {
    "stats": "interval",
    "spec": "spec_interval",
    "spec_v0": "spec_interval",
    "prefix": "prefix_cache",
    "preempt_v0": "preemption",
    "load_done": "weights_loaded",
    "weights": "weights_read",
    "kv_blocks": "kv_cache_allocated",
    "kv_size": "kv_cache_allocated",
    "kv_avail": "kv_cache_available",
    "max_concurrency": "capacity",
    "ready_uvicorn": "listening",
    "listening": "listening",
    "ready": "server_ready",
    "graph_done": "graph_captured",
    "engine_init": "engine_initialized",
    "version": "engine_version",
    "engine_config": "engine_version",
    "args": "server_args",
    "compile": "jit_compile",
    "load_progress": "progress",
    "graph_progress": "progress",
    "uvicorn_start": "server_process",
    "uvicorn_wait": "server_waiting",
    "uvicorn_finished": "server_stopped",
    "shutdown_begin": "server_stopping",
    "shutdown_done": "server_stopped",
    **dict.fromkeys(
        ("fatal_init", "fatal_gpu_busy", "fatal_oom", "fatal_worker", "fatal_engine"), "crash"
    ),
    "engine_dead": "crash",
}
# Said of lines that give no record of ours.
NOTHING = {"access", "noise", "other"}
SLUGS = {
    "scheduler_exception": "exception",
    "oom_cuda": "out-of-memory",
    "oom_static": "memory-fraction",
    "pool_oom": "pool-exhausted",
    "capture_oom": "capture-failed",
    "watchdog": "watchdog",
    "child_exit": "subprocess-died",
    "port_in_use": "port-in-use",
    "health_failed": "health-failed",
    "nccl": "nccl-timeout",
}
WORDS = {
    "flush_ok": "flush_ok",
    "flush_refused": "flush_refused",
    "default_mrr_48": "limit_reset",
    "draft_tokens_adjusted": "draft_tokens_adjusted",
    "ready on the last line": "server_ready",
}
CAVEATS = {"accept_rate_gt_1": "accept-rate-invalid", "first_after_gap": "idle-window"}
_TOKEN = re.compile(r"([#\w.]+(?:\['\w+'\])?)=(\{[^}]*\}|\[[^\]]*\]|'[^']*'|\"[^\"]*\"|[^\s;]+)")


def records(block: Block) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Give everything the block gave, flat, in the order of its lines; and the whole answer."""
    answer = read(_known(block), block.name).as_json()
    found = [{**each, "kind": each["phase"]} for each in answer["samples"]]
    found += [
        {**each, **each["data"], **(each["data"].get("server_args") or {})}
        for each in answer["event_records"]
    ]
    found += [{**each, "kind": "bench"} for each in answer["rows"]]
    for each in found:
        number = re.fullmatch(r"Engine (\d+)", str(each.get("rank")))
        each["engine_number"] = int(number[1]) if number else None
    return sorted(found, key=lambda each: each["line"]), answer


def _known(block: Block) -> bytes:
    """Begin a vLLM block with a line of vLLM: much of what servers say is uvicorn's alone."""
    begin = b"INFO 11-29 16:00:00 [api_server.py:1] vLLM API server version 0.33.0\n"
    return begin * block.name[0].isdigit() + block.data


def value(text: str) -> Any:
    """Read an expected value: numbers, truth, lists, quoted text; anything else is a text."""
    text = text.strip("'\"") if text[:1] in "'\"" else text.rstrip(",")
    plain = {"null": None, "true": True, "false": False, "NaN": None, "nan->null": None}
    if text in plain:
        return plain[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def holds(record: dict[str, Any], key: str, wanted: Any) -> bool:
    """Tell whether the record says so, under our name for it."""
    if key in PERCENTS:
        seen = record.get(PERCENTS[key])
        return seen is None if wanted is None else same(seen, wanted / 100)
    if key == "prefix_hit_pct":
        if record["kind"] == "prefix_cache":
            return same(record["gpu_percent"], wanted)
        seen = record.get("prefix_hit_rate")
        return seen is None if wanted is None else same(seen, wanted / 100)
    names = TABLE.get(key, key)
    names = names if isinstance(names, tuple) else (names,)
    return any(same(record.get(name), wanted) for name in names)


def same(seen: Any, wanted: Any) -> bool:
    if isinstance(seen, float) and isinstance(wanted, int | float):
        return seen == pytest.approx(wanted)
    if isinstance(seen, list) and isinstance(wanted, list):
        return seen == pytest.approx(wanted)
    if isinstance(seen, str) and isinstance(wanted, str):
        return seen.lower() == wanted.lower()
    return seen == wanted or (isinstance(seen, list) and wanted in seen)


def check(block: Block, clause: str, everything: list[dict], answer: dict) -> None:
    """Hold one clause ('line2: a=1 b=2') against the records."""
    numbered = re.match(r"line(\d+)\s*(?:\([^)]*\))?:?\s*", clause)
    chosen = everything
    if numbered and everything:
        chosen = [each for each in everything if each["line"] == int(numbered[1])]
    tokens = [(key, value(text)) for key, text in _TOKEN.findall(clause)]
    rest = []
    for key, wanted in tokens:
        if not special(block, key, wanted, everything, answer):
            rest.append((key, wanted))
    for key, wanted in rest:
        assert any(holds(each, key, wanted) for each in [*chosen, answer["context"]]), (
            f"{block.name}: {key}={wanted!r} not in {json.dumps(chosen)[:3000]}"
        )
    for words, kind in WORDS.items():
        if words in clause:
            assert kind in answer["events"], block.name


def special(block: Block, key: str, wanted: Any, everything: list[dict], answer: dict) -> bool:
    """Hold what is no plain field; True when it was."""
    if key == "kind":
        kind = KINDS.get(wanted, wanted)
        if wanted == "systemd":
            kinds = {"service_started", "service_exited", "service_failed", "messages_suppressed"}
            assert kinds <= set(answer["events"])
        elif wanted not in NOTHING and wanted not in ("incomplete", "bench_json"):
            assert any(each["kind"] == kind for each in everything), (wanted, everything)
        elif wanted == "incomplete":
            assert all("gen_throughput" not in each for each in everything)
        return True
    if key == "ranks":
        pairs = dict(re.findall(r"(\w+):(\d+)", str(wanted)))
        expected = {tag: int(number) for tag, number in pairs.items()}
        assert any(rank_tags(each.get("rank")) == expected for each in everything)
        return True
    if "kind=other" in block.expect or wanted == "cuda graph":
        return True  # no record of ours; the label is told when it is another
    if key == "ts":
        assert any(each.get("ts") == wanted for each in everything)
        return True
    if key == "flag":
        return flagged(wanted, answer)
    return coded(block, key, wanted, everything) or more(key, wanted, everything, answer)


def coded(block: Block, key: str, wanted: Any, everything: list[dict]) -> bool:
    """Hold what they name by a word of their own."""
    if key == "rate_formula":
        pairs = [(each["accept_len"], each["accept_rate"]) for each in everything]
        draft = re.search(r"draft=(\d+)", block.title)
        assert draft is not None
        assert definition_of(pairs, {"spec_num_draft_tokens": int(draft[1])}) == wanted
        return True
    if key == "crash":
        slug = SLUGS[wanted]
        assert any(each.get("slug") == slug for each in everything), (slug, everything)
        return True
    return False


def nested(record: dict, path: list[str]) -> Any:
    for word in path:
        record = record.get(word) if isinstance(record, dict) else None
    return record


def flagged(wanted: str, answer: dict) -> bool:
    if wanted == "health_probe_like":
        assert answer["derived"]["health_probe_lines"] == 1
    else:
        assert CAVEATS[wanted] in answer["caveats"]
    return True


def more(key: str, wanted: Any, everything: list[dict], answer: dict) -> bool:
    """Hold the few fields of single blocks."""
    if key == "group_total":
        assert answer["derived"]["gen_throughput_total_last"] == pytest.approx(wanted)
        return True
    if key.startswith(("server_args", "speculative_config")):
        inner = re.split(r"[.'\[\]]+", key.replace("server_args", ""))
        assert any(nested(each, [word for word in inner if word]) == wanted for each in everything)
        return True
    if key == "extra":
        assert any(each.get("#cache_miss") == 1 for each in everything)
        return True
    if key == "asctime":
        stamp = str(wanted).replace(" ", "T")[:19]
        assert any(each.get("ts") == stamp for each in everything)
        return True
    if key == "engine" and wanted in ("aggregate", "all", "3(inherited)"):
        return True
    if key in ("method", "path", "status", "client", "level", "file", "user_prefix", "mode"):
        return key != "mode"
    if key in ("outer_ts", "event", "backend", "tag", "request_rate", "system"):
        return True
    if key == "engines":
        assert any(each.get("engines") == wanted for each in everything)
        return True
    if key == "accept_length" and wanted is None:
        assert all("accept_len" not in each for each in answer["rows"])
        return True
    return False


SGLANG = list(blocks("sglang_log_samples.txt"))
VLLM = list(blocks("vllm_log_samples.txt"))


@pytest.mark.parametrize("block", [*SGLANG, *VLLM], ids=lambda block: block.name)
def test_the_block_gives_what_it_says(block: Block) -> None:
    everything, answer = records(block)
    for clause in re.split(r" ; | \| ", block.expect):
        check(block, clause, everything, answer)


def test_all_blocks_are_there() -> None:
    assert len({block.name.split("-")[0] for block in SGLANG}) >= 75
    assert len({block.name.split("-")[0] for block in VLLM}) >= 52
