"""All rules, in the order in which their findings are shown."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from runs.caveats import (
    accept_len_cumulative,
    accept_rate_definition,
    cache_flush_failed,
    client_bottleneck,
    client_log_gap,
    cold,
    cuda_graph_off,
    degenerate_output,
    failed_requests,
    foreign_load,
    greedy_sampling,
    handover,
    idle_window,
    ignore_eos,
    kv_pressure,
    open_loop_overload,
    parse_gap,
    per_rank_throughput,
    prefix_cache_warm,
    queueing,
    random_tokens,
    restart_in_window,
    retraction,
    running_capped,
    search_edge,
    short,
    simulated_acceptance,
    stale_log,
    tail,
    thermal_throttle,
)
from runs.caveats.arms import ArmFacts
from runs.caveats.base import SEVERITIES, Experiment, Facts, Finding, Rule, Severity
from runs.caveats.between import accept_rate_definition as other_definition
from runs.caveats.between import (
    env_differs,
    one_launch,
    output_length_mismatch,
    overlap_differs,
    unpaired,
)
from runs.caveats.between import prefix_cache_warm as cache_differs
from runs.caveats.between import queueing as queue_differs
from runs.caveats.load import LevelFacts

Given = TypeVar("Given")

RULES: tuple[Rule[Facts], ...] = (
    simulated_acceptance.RULE,
    random_tokens.RULE,
    restart_in_window.RULE,
    per_rank_throughput.RULE,
    greedy_sampling.RULE,
    ignore_eos.RULE,
    running_capped.RULE,
    degenerate_output.RULE,
    retraction.RULE,
    queueing.RULE,
    cuda_graph_off.RULE,
    client_log_gap.RULE,
    accept_rate_definition.RULE,
    parse_gap.RULE,
    kv_pressure.RULE,
    idle_window.RULE,
)

# Rules about what the load met, level by level.
LOAD_RULES: tuple[Rule[Sequence[LevelFacts]], ...] = (
    failed_requests.RULE,
    foreign_load.RULE,
    stale_log.RULE,
    thermal_throttle.RULE,
    cache_flush_failed.RULE,
    prefix_cache_warm.RULE,
    accept_len_cumulative.RULE,
    cold.RULE,
    handover.RULE,
    client_bottleneck.RULE,
    open_loop_overload.RULE,
    short.RULE,
    tail.RULE,
    search_edge.RULE,
)

# Rules about arms side by side.
ARM_RULES: tuple[Rule[Sequence[ArmFacts]], ...] = (
    env_differs.RULE,
    unpaired.RULE,
    one_launch.RULE,
    output_length_mismatch.RULE,
    cache_differs.RULE,
    queue_differs.RULE,
    other_definition.RULE,
    overlap_differs.RULE,
)

_ALL: tuple[Rule[Any], ...] = (*RULES, *LOAD_RULES, *ARM_RULES)
_ORDER = {rule.slug: place for place, rule in reversed([*enumerate(_ALL)])}
# Of what a text alone shows the worst is a warning, except what no threshold could soften.
TEXT_BLOCKS = ("simulated-acceptance", "restart-in-window", "wrong-server")
TEXT_INFO = ("idle-window", "kv-pressure", "units-converted", "year-inferred", "date-missing")


def find_load_caveats(levels: Sequence[LevelFacts]) -> list[Finding]:
    """Give every finding that the levels support."""
    return _found(LOAD_RULES, levels)


def find_caveats(facts: Facts) -> list[Finding]:
    """Give every finding that the facts support."""
    return _found(RULES, facts)


def find_between(arms: Sequence[ArmFacts]) -> list[Finding]:
    """Give every finding that the arms of a comparison support, the baseline being the first."""
    return _found(ARM_RULES, arms) if len(arms) > 1 else []


def _found(rules: Iterable[Rule[Given]], given: Given) -> list[Finding]:
    found = (rule(given) for rule in rules)
    return [finding for finding in found if finding is not None]


def severity_of(found: Finding) -> Severity:
    """A finding's own severity; of a text's, what can be said without a threshold."""
    if found.severity is not None:
        return found.severity
    if found.slug == "random-tokens" and found.evidence.get("dataset") in random_tokens.IDS:
        return "block"
    if found.slug in TEXT_BLOCKS:
        return "block"
    return "info" if found.slug in TEXT_INFO else "warn"


def experiment_of(slug: str, *, between: bool = False) -> Experiment | None:
    """The counter-experiment of a rule; `between` prefers the rule about arms side by side."""
    rules: tuple[Rule[Any], ...] = (*ARM_RULES, *RULES, *LOAD_RULES) if between else _ALL
    return next((rule.test for rule in rules if rule.slug == slug and rule.test), None)


def shown_at(slug: str, severity: Severity) -> tuple[int, int]:
    """Sorts caveats: the worst first, then in the order of the rules; unknown slugs last."""
    return SEVERITIES.index(severity), _ORDER.get(slug, len(_ALL))
