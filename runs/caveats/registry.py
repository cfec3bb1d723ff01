"""All rules, in the order in which their findings are shown."""

from collections.abc import Callable

from runs.caveats import (
    accept_rate_definition,
    client_log_gap,
    cuda_graph_off,
    greedy_sampling,
    idle_window,
    ignore_eos,
    queueing,
    running_capped,
)
from runs.caveats.base import Facts, Finding

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


def find_caveats(facts: Facts) -> list[Finding]:
    """Give every finding that the facts support."""
    found = (rule(facts) for rule in RULES)
    return [finding for finding in found if finding is not None]
