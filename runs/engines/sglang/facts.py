"""What a server's start tells about it: limits, memory, capture, seconds, arguments."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from runs.engines.base import JSON, Event
from runs.engines.sglang.lines import stamp

# These come before the dump of arguments, while the arguments are resolved.
_BEFORE_ARGS = {"limit_reset", "draft_tokens_adjusted"}


def startup_facts(events: Iterable[Event]) -> dict[str, JSON]:
    """Gather the facts of the last start in the events; what was not said is not in the answer.

    Keys: server_args (secrets masked), max_running_requests, max_total_num_tokens, context_len,
    available_mem_gb, weights_s, kv_cache_tokens, graph_capture_s, graph_sizes, limit_reset_to,
    draft_tokens_adjusted, startup_timings (s), ready, ready_at. The engine's GB are GiB.
    """
    life = _last_life(list(events))
    facts: dict[str, JSON] = {"ready": any(event.kind == "server_ready" for event in life)}
    for event in life:
        facts.update(_said(event))
    facts.update(_seconds(life, "weights_loaded", "weights_s"))
    facts.update(_seconds(life, "graph_captured", "graph_capture_s"))
    facts.update(_kv_tokens(life))
    facts.update(_graph_sizes(life))
    return facts


def _last_life(events: list[Event]) -> list[Event]:
    starts = [index for index, event in enumerate(events) if event.kind == "server_args"]
    if not starts:
        return events
    begin = starts[-1]
    while begin > 0 and events[begin - 1].kind in _BEFORE_ARGS:
        begin -= 1
    return events[begin:]


def _said(event: Event) -> dict[str, JSON]:
    """Give what one event says by itself; a later word of the same kind replaces an earlier."""
    data = event.data
    if event.kind == "capacity":
        names = (
            "max_running_requests",
            "max_total_num_tokens",
            "context_len",
            "available_mem_gb",
            "chunked_prefill_size",
        )
        return {name: data[name] for name in names if name in data}
    if event.kind == "limit_reset":
        # Before the capacity line this is a default, after it the limit that counts.
        limit = data["max_running_requests"]
        return {"limit_reset_to": limit, "max_running_requests": limit}
    if event.kind == "server_args" and "server_args" in data:
        return {"server_args": data["server_args"]}
    if event.kind == "startup_timings":
        return {"startup_timings": dict(data)}
    if event.kind == "draft_tokens_adjusted":
        return {"draft_tokens_adjusted": True}
    return {"ready_at": event.time} if event.kind == "server_ready" else {}


def _seconds(life: Sequence[Event], kind: str, name: str) -> dict[str, JSON]:
    """Add up the seconds of each rank (target, then draft) and take the slowest rank."""
    ranks: dict[str | None, float] = defaultdict(float)
    for event in life:
        seconds = event.data.get("elapsed_s")
        if event.kind == kind and isinstance(seconds, int | float):
            ranks[stamp(event.text)[1]] += seconds
    return {name: round(max(ranks.values()), 6)} if ranks else {}


def _kv_tokens(life: Sequence[Event]) -> dict[str, JSON]:
    """Take the size after graph capture where there is one, else the first: the target's."""
    pools = [event for event in life if event.kind == "kv_cache_allocated" and event.data]
    final = [event for event in pools if "Post-capture" in event.text]
    chosen = final[-1:] or pools[:1]
    return {"kv_cache_tokens": chosen[0].data.get("tokens")} if chosen else {}


def _graph_sizes(life: Sequence[Event]) -> dict[str, JSON]:
    """Take the batch sizes of the target's decode or verify graphs."""
    for event in life:
        what = str(event.data.get("what", ""))
        if "sizes" in event.data and "prefill" not in what and "draft" not in what:
            return {"graph_sizes": event.data["sizes"]}
    return {}
