"""Bodies of the routes that tell about the server."""

from __future__ import annotations

import shlex
import time
from typing import Any, Sequence

from .engine import ARCHITECTURE, VERSION, Engine

SHOWN_GRAPHS = (
    "prefill",
    "decode",
    "target_verify",
    "draft_prefill",
    "draft_decode",
    "draft_extend",
)


def models(engine: Engine) -> dict[str, Any]:
    name = engine.shown_name
    entry = {"id": name, "object": "model", "created": int(time.time()), "owned_by": "sglang"}
    entry.update(root=name, parent=None, max_model_len=engine.launch["context_length"])
    return {"object": "list", "data": [entry]}


def model_info(engine: Engine) -> dict[str, Any]:
    return {
        "model_path": engine.shown_model,
        "served_model_name": engine.shown_name,
        "tokenizer_path": engine.launch["tokenizer_path"],
        "is_generation": True,
        "preferred_sampling_params": None,
        "weight_version": "default",
        "load_format": engine.launch["load_format"],
        "reasoning_parser": engine.launch["reasoning_parser"],
        "tool_call_parser": engine.launch["tool_call_parser"],
        "has_image_understanding": False,
        "has_audio_understanding": False,
        "model_type": "simulated",
        "architectures": [ARCHITECTURE],
    }


def server_info(engine: Engine) -> dict[str, Any]:
    """Flat resolved arguments, then what the scheduler knows; `simulated` is our own word."""
    arguments = {**engine.launch.resolved, "model_path": engine.shown_model}
    arguments["served_model_name"] = engine.shown_name
    return {
        **arguments,
        "launch_command": launch_command(engine.launch.argv),
        "status": engine.status,
        "max_total_num_tokens": engine.memory.kv_tokens,
        "max_req_input_len": engine.launch["context_length"] - 6,
        "startup_time": engine.startup_time,
        "internal_states": [_internal_state(engine, arguments)],
        "version": VERSION,
        "kv_events": None,
        "simulated": True,
    }


def launch_command(argv: Sequence[str]) -> str:
    return "python3 -m sglang.launch_server " + " ".join(shlex.quote(word) for word in argv)


def _internal_state(engine: Engine, arguments: dict[str, Any]) -> dict[str, Any]:
    memory = engine.memory
    graphs = engine.startup_time.get("cuda_graph", {})
    captured = sum(1 for seconds in graphs.values() if seconds) or 1
    state: dict[str, Any] = {
        **arguments,
        "last_gen_throughput": engine.scheduler.tally.last_tps,
        "memory_usage": {
            "weight": round(memory.weights + memory.draft_weights, 3),
            "kvcache": round(memory.kv_cache, 3),
            "startup_available": round(memory.left, 3),
            "token_capacity": memory.kv_tokens,
            "token_capacity_swa": None,
            "graph": {
                name: round(memory.graphs / captured, 3) if seconds else 0.0
                for name, seconds in graphs.items()
            },
        },
        "startup_time": engine.startup_time,
        "effective_max_running_requests_per_dp": memory.limit,
    }
    if engine.scheduler.tally.mean_accept_len is not None:
        state["avg_spec_accept_length"] = engine.scheduler.tally.mean_accept_len
    return state


def metrics(engine: Engine) -> str:
    """The few Prometheus series that follow from the scheduler's counters."""
    scheduler = engine.scheduler
    queue = scheduler.batching
    series = [
        ("gauge", "num_running_reqs", float(len(queue.running))),
        ("gauge", "num_queue_reqs", float(len(queue.waiting))),
        ("gauge", "num_used_tokens", float(queue.used_tokens)),
        ("gauge", "token_usage", queue.token_usage),
        ("gauge", "gen_throughput", 0.0 if queue.idle else scheduler.tally.last_tps),
        ("gauge", "spec_accept_length", scheduler.tally.mean_accept_len or 0.0),
        ("counter", "prompt_tokens_total", float(scheduler.prompt_tokens)),
        ("counter", "generation_tokens_total", float(scheduler.generated)),
    ]
    label = engine.shown_name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    labels = f'{{engine_type="unified",model_name="{label}"}}'
    lines = []
    for kind, name, value in series:
        lines.append(f"# TYPE sglang:{name} {kind}")
        lines.append(f"sglang:{name}{labels} {value!r}")
    return "\n".join(lines) + "\n"
