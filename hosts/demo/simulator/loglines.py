"""Every line the scheduler and the HTTP server write, without its stamp. Pure formatters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

SIMULATED = "Throughline simulated engine: speeds follow a model, not a GPU."
READY = "The server is fired up and ready to roll!"
FLUSHED = "Cache flushed successfully!"


@dataclass(frozen=True)
class PrefillFacts:
    """One prefill batch after its forward pass."""

    new_seq: int
    new_tokens: int
    cached_tokens: int
    token_usage: float
    running: int
    queue: int
    pending_tokens: int
    graph: bool
    input_tps: float


@dataclass(frozen=True)
class DecodeFacts:
    """One decode tick; accept_len is None without speculation."""

    running: int
    tokens: int
    token_usage: float
    accept_len: float | None
    draft_tokens: int
    graph: bool
    gen_tps: float
    queue: int


def prefill(facts: PrefillFacts) -> str:
    return (
        f"Prefill batch, #new-seq: {facts.new_seq}, #new-token: {facts.new_tokens}, "
        f"#cached-token: {facts.cached_tokens}, token usage: {facts.token_usage:.2f}, "
        f"#running-req: {facts.running}, #queue-req: {facts.queue}, "
        f"#pending-token: {facts.pending_tokens}, cuda graph: {facts.graph}, "
        f"input throughput (token/s): {facts.input_tps:.2f}"
    )


def decode(facts: DecodeFacts) -> str:
    accepted = ""
    if facts.accept_len is not None:
        rate = (facts.accept_len - 1.0) / (facts.draft_tokens - 1)
        accepted = f"accept len: {facts.accept_len:.2f}, accept rate: {rate:.2f}, "
    return (
        f"Decode batch, #running-req: {facts.running}, #token: {facts.tokens}, "
        f"token usage: {facts.token_usage:.2f}, {accepted}cuda graph: {facts.graph}, "
        f"gen throughput (token/s): {facts.gen_tps:.2f}, #queue-req: {facts.queue}"
    )


def retraction(requests: int, gained: int, before: float, after: float) -> str:
    return (
        f"KV cache pool is full. Retract requests. #retracted_reqs: {requests}, "
        f"#new_tokens_gained: {gained}, #new_token_ratio: {before:.4f} -> {after:.4f}"
    )


def not_flushed(queue: int, running: int) -> str:
    return (
        "Cache not flushed because there are pending requests. "
        f"#queue-req: {queue}, #running-req: {running}"
    )


def capped(limit: int, per_request: float) -> str:
    return (
        f"max_running_requests is capped to {limit} by the request state pool "
        f"({per_request:g} states per request)"
    )


def capacity(
    tokens: int, chunk: int, prefill_tokens: int, limit: int, context: int, left: float
) -> str:
    return (
        f"max_total_num_tokens={tokens}, chunked_prefill_size={chunk}, "
        f"max_prefill_tokens={prefill_tokens}, max_running_requests={limit}, "
        f"context_len={context}, available_gpu_mem={left:.2f} GB"
    )


def capture_begin(what: str, backend: str, shape: str, sizes: Sequence[int], left: float) -> str:
    return (
        f"Capture {what} CUDA graph begin. backend={backend}, {shape}={list(sizes)}, "
        f"avail mem={left:.2f} GB"
    )


def capture_end(what: str, seconds: float, used: float, left: float) -> str:
    return (
        f"Capture {what} CUDA graph end. elapsed={seconds:.2f} s, mem usage={used:.2f} GB, "
        f"avail mem={left:.2f} GB."
    )


def capture_bar(label: str, sizes: Sequence[int], left: float) -> str:
    """A progress bar as tqdm leaves it in a file: parts joined by carriage returns."""
    count = len(sizes)
    parts: list[str] = ["  0%|          | 0/" + str(count) + " [00:00<?, ?it/s]"]
    for done, size in enumerate(reversed(sizes), start=1):
        percent = 100 * done // count
        bar = "█" * (percent // 10)
        parts.append(
            f"Capturing {label}={size} avail_mem={left:.2f} GB): {percent:3d}%|{bar:<10}| "
            f"{done}/{count} [00:00<00:00, 14.20it/s]"
        )
    return "\r".join(parts)


def timings(
    weights: float, kv: float, total: float, graphs: dict[str, float], tokenizer: float
) -> str:
    inner = ", ".join(f"{name}={seconds:.2f}" for name, seconds in graphs.items())
    return (
        f"Engine startup timings (s): load_weight={weights:.2f}, kv_cache_allocation={kv:.2f}, "
        f"scheduler_e2e={total:.2f}, cuda_graph={{{inner}}}, tokenizer_e2e={tokenizer:.2f}"
    )


def server_args(resolved: dict[str, Any]) -> str:
    return f"server_args={resolved!r}"


def access(client: str, method: str, target: str, status: int, phrase: str) -> str:
    return f'INFO:     {client} - "{method} {target} HTTP/1.1" {status} {phrase}'
