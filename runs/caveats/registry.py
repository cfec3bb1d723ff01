"""All rules, in the order in which their findings are shown."""

from collections.abc import Callable, Sequence

from runs.caveats import (
    accept_rate_definition,
    cache_flush_failed,
    client_log_gap,
    cuda_graph_off,
    failed_requests,
    foreign_load,
    greedy_sampling,
    idle_window,
    ignore_eos,
    prefix_cache_warm,
    queueing,
    running_capped,
    thermal_throttle,
)
from runs.caveats.base import Facts, Finding
from runs.caveats.load import LevelFacts

RULES: tuple[Callable[[Facts], Finding | None], ...] = (
    greedy_sampling.find,
    ignore_eos.find,
    running_capped.find,
    queueing.find,
    cuda_graph_off.find,
    client_log_gap.find,
    accept_rate_definition.find,
    idle_window.find,
)

# Rules about what the load met, level by level.
LOAD_RULES: tuple[Callable[[Sequence[LevelFacts]], Finding | None], ...] = (
    failed_requests.find,
    foreign_load.find,
    thermal_throttle.find,
    cache_flush_failed.find,
    prefix_cache_warm.find,
)


def find_load_caveats(levels: Sequence[LevelFacts]) -> list[Finding]:
    """Give every finding that the levels support."""
    found = (rule(levels) for rule in LOAD_RULES)
    return [finding for finding in found if finding is not None]


def find_caveats(facts: Facts) -> list[Finding]:
    """Give every finding that the facts support."""
    found = (rule(facts) for rule in RULES)
    return [finding for finding in found if finding is not None]
