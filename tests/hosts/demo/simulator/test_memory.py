from __future__ import annotations

import pytest

from hosts.demo.simulator.memory import MemoryPlan, NotEnoughMemory, plan_memory
from hosts.demo.simulator.model import Speculation


def plan(
    steps: int = 2,
    fraction: float = 0.84,
    asked: int | None = None,
    tokens: int | None = None,
    graphs: bool = True,
) -> MemoryPlan:
    return plan_memory(
        Speculation(steps, 1, steps + 1),
        mem_fraction=fraction,
        tp_size=1,
        max_running_requests=asked,
        max_total_tokens=tokens,
        graphs=graphs,
    )


def test_a_given_limit_is_honoured_and_paid_for_by_the_kv_cache() -> None:
    assert plan(asked=48).limit == 48
    assert not plan(asked=48).limit_from_memory
    assert plan(asked=48).kv_tokens < plan().kv_tokens
    assert plan(asked=256).kv_tokens > 10_000


def test_speculation_never_runs_more_than_48_by_default() -> None:
    assert plan(steps=1, fraction=0.98).limit <= 48


def test_max_total_tokens_caps_the_pool() -> None:
    assert plan(tokens=4096).kv_tokens == 4096
    assert plan(tokens=10**9).kv_tokens == plan().kv_tokens


def test_weights_that_leave_no_room_are_refused() -> None:
    with pytest.raises(NotEnoughMemory):
        plan(fraction=0.6)


@pytest.mark.parametrize("graphs", [True, False])
def test_a_fraction_of_0995_starts_but_is_too_tight(graphs: bool) -> None:
    assert plan(fraction=0.995, graphs=graphs).too_tight
    assert plan(fraction=0.995, graphs=graphs).left > 0
    assert not plan(graphs=graphs).too_tight
