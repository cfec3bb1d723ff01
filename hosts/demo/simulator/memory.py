"""The memory model: what fits on the imagined GPU, and so how many requests may run. Pure.

Sizes are GiB (SGLang prints them as GB). Each running request holds a share of a pool of
request states; speculation needs one more share for every draft token, which is why the running
limit falls as steps rise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .model import Speculation

GPU_GIB = 79.10
USABLE_GIB = 78.56
WEIGHTS_GIB = 52.0
DRAFT_WEIGHTS_GIB = 0.9
GRAPHS_GIB = 1.2
STATE_SHARE = 0.9 / 1.9  # of what the weights leave; the rest is KV cache
STATE_GIB = 0.0602
PLAIN_STATES = 1.7  # states of a request without speculation
SPECULATIVE_STATES = 2.1  # the same with a draft model, before its draft tokens
KV_TOKEN_GIB = 64 / 1024 / 1024
DRAFT_KV_TOKEN_GIB = 4 / 1024 / 1024
LEAST_KV_SHARE = 0.25  # a large --max-running-requests may not eat the whole KV cache
LEAST_POOL_GIB = 1.0
SPECULATIVE_LIMIT = 48  # SGLang's own default under speculation
ACTIVATION_GIB = 0.5  # a step needs this much beside weights, pools and graphs


@dataclass(frozen=True)
class MemoryPlan:
    """Where the memory went. Sizes in GiB."""

    weights: float
    draft_weights: float
    states_per_request: float
    states: float
    kv_cache: float
    kv_tokens: int
    limit: int
    limit_from_memory: bool
    graphs: float
    left: float

    @property
    def too_tight(self) -> bool:
        """True if the server starts but the first real step runs out of memory."""
        return self.left < ACTIVATION_GIB


class NotEnoughMemory(Exception):
    """The weights leave no room for the pools at this --mem-fraction-static."""


def states_per_request(spec: Speculation) -> float:
    return PLAIN_STATES if spec.steps == 0 else SPECULATIVE_STATES + spec.draft_tokens


def plan_memory(
    spec: Speculation,
    *,
    mem_fraction: float,
    tp_size: int,
    max_running_requests: int | None,
    max_total_tokens: int | None,
    graphs: bool,
) -> MemoryPlan:
    """Share out the memory of one GPU; raises NotEnoughMemory if nothing is left for pools.

    A given max_running_requests is honoured: its states are then paid for by the KV cache.
    """
    drafting = spec.steps > 0
    weights = WEIGHTS_GIB / tp_size
    draft = DRAFT_WEIGHTS_GIB / tp_size if drafting else 0.0
    pool = mem_fraction * USABLE_GIB - weights
    if pool < LEAST_POOL_GIB:
        raise NotEnoughMemory()
    per_request = states_per_request(spec)
    fits = int(pool * STATE_SHARE / (STATE_GIB / tp_size * per_request))
    limit = _limit(fits, drafting, max_running_requests)
    states = limit * per_request * STATE_GIB / tp_size
    kv_cache = max(LEAST_KV_SHARE * pool, pool - states - draft)
    free = USABLE_GIB * (1.0 - mem_fraction)
    graph_size = min(GRAPHS_GIB, 0.6 * free) if graphs else 0.0
    tokens = _kv_tokens(kv_cache, drafting, tp_size)
    return MemoryPlan(
        weights=weights,
        draft_weights=draft,
        states_per_request=per_request,
        states=states,
        kv_cache=kv_cache,
        kv_tokens=min(tokens, max_total_tokens) if max_total_tokens else tokens,
        limit=limit,
        limit_from_memory=max_running_requests is None and limit == fits,
        graphs=graph_size,
        left=free - graph_size,
    )


def _limit(fits: int, drafting: bool, given: int | None) -> int:
    if given is not None:
        return given
    return max(1, min(fits, SPECULATIVE_LIMIT) if drafting else fits)


def _kv_tokens(size: float, drafting: bool, tp_size: int) -> int:
    per_token = KV_TOKEN_GIB + (DRAFT_KV_TOKEN_GIB if drafting else 0.0)
    return math.floor(size / (per_token / tp_size))
