"""What a vLLM server's start tells about it, under the names that SGLang's start has."""

from __future__ import annotations

from collections.abc import Iterable

from runs.engines.base import JSON, Event


def startup_facts(events: Iterable[Event]) -> dict[str, JSON]:
    """Gather what was said; what was not said is not in the answer.

    Keys: server_args (secrets masked, only those that differ from the defaults), version,
    max_running_requests (if it was asked for), context_len, kv_cache_tokens, weights_s,
    graph_capture_s, ready.
    """
    facts: dict[str, JSON] = {"ready": False}
    for event in events:
        data = event.data
        if event.kind == "server_args" and isinstance(data.get("server_args"), dict):
            facts = {"ready": False, "server_args": data["server_args"]}
            limit = data["server_args"].get("max_num_seqs")  # type: ignore[union-attr]
            if limit is not None:
                facts["max_running_requests"] = limit
        elif event.kind == "server_ready":
            facts["ready"] = True
        for (kind, name), ours in _NAMES.items():
            if event.kind == kind and data.get(name) is not None:
                facts[ours] = data[name]
    return facts


_NAMES = {
    ("engine_version", "version"): "version",
    ("kv_cache_allocated", "tokens"): "kv_cache_tokens",
    ("kv_cache_allocated", "context_len"): "context_len",
    ("capacity", "context_len"): "context_len",
    ("weights_loaded", "elapsed_s"): "weights_s",
    ("graph_captured", "elapsed_s"): "graph_capture_s",
}
