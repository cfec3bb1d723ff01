"""Every rule of the registry has a case that fires it and a near miss that does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runs.caveats.arms import ArmFacts
from runs.caveats.base import Facts, Rule
from runs.caveats.load import LevelFacts
from runs.caveats.registry import (
    ARM_RULES,
    LOAD_RULES,
    RULES,
    experiment_of,
    find_between,
    find_caveats,
    find_load_caveats,
    severity_of,
    shown_at,
)
from runs.metrics.gpu import GpuWindow
from tests.runs.caveats.cases import ARMS, FACTS, LEVELS, Case
from tests.runs.caveats.test_rules import UNKNOWN

GPU = GpuWindow(
    gpu=0, samples=50, fastest_mhz=1980, clock_mhz=1980.0, slowest_mhz=1500, slow=0, thermal=0,
    power_cap=0, hottest_c=70, power_limit_w=700.0, all_samples=50, strangers=0, strangers_most=0,
    strangers_bytes=None,
)  # fmt: skip
# The 33 of the design, and two more that only we have.
DESIGNED = {
    "greedy-sampling", "ignore-eos", "random-tokens", "simulated-acceptance", "degenerate-output",
    "running-capped", "queueing", "cuda-graph-off", "overlap-differs", "retraction", "kv-pressure",
    "stale-log", "restart-in-window", "idle-window", "per-rank-throughput",
    "accept-len-cumulative", "accept-rate-definition", "cold", "handover", "short",
    "client-bottleneck", "foreign-load", "prefix-cache-warm", "output-length-mismatch",
    "failed-requests", "thermal-throttle", "env-differs", "unpaired", "one-launch", "tail",
    "parse-gap", "open-loop-overload", "search-edge",
}  # fmt: skip
OURS = {"client-log-gap", "cache-flush-failed"}


def facts(known: dict[str, Any]) -> Facts:
    return replace(UNKNOWN, **known)


def levels(told: list[dict[str, Any]]) -> list[LevelFacts]:
    nothing: dict[str, Any] = {
        "concurrency": 8, "requests": None, "failed": 0, "flushed": None, "flush_answer": "",
        "prompt_tokens": None, "cached_tokens": None,
    }  # fmt: skip
    found = []
    for each in told:
        gpus = (replace(GPU, **each["gpus"]),) if "gpus" in each else ()
        found.append(LevelFacts(**{**nothing, **each, "gpus": gpus}))
    return found


def arms(told: list[dict[str, Any]]) -> list[ArmFacts]:
    return [ArmFacts(**{"name": "AB"[i], "launches": 1, **each}) for i, each in enumerate(told)]


GROUPS = [
    (RULES, FACTS, facts, find_caveats),
    (LOAD_RULES, LEVELS, levels, find_load_caveats),
    (ARM_RULES, ARMS, arms, find_between),
]
ALL = [
    pytest.param(rule, table.get(rule.slug), make, find, id=f"{name}:{rule.slug}")
    for name, (rules, table, make, find) in zip(("run", "load", "arms"), GROUPS, strict=True)
    for rule in rules
]


def test_every_rule_of_the_design_is_there_once() -> None:
    slugs = {rule.slug for rules, *_ in GROUPS for rule in rules}
    assert slugs == DESIGNED | OURS and len(DESIGNED) == 33
    for rules, *_ in GROUPS:
        assert len({rule.slug for rule in rules}) == len(rules)


@pytest.mark.parametrize(("rule", "case", "make", "find"), ALL)
def test_it_fires_with_its_value_and_not_nearly(
    rule: Rule[Any], case: Case | None, make: Any, find: Any
) -> None:
    assert case is not None, f"{rule.slug} has no case that fires it and no near miss"
    found = {each.slug: each for each in find(make(case.fires))}
    assert set(found) == {rule.slug}
    assert severity_of(found[rule.slug]) == case.severity
    assert case.measured in found[rule.slug].text
    assert found[rule.slug].evidence
    assert find(make(case.near)) == []


@pytest.mark.parametrize(("rule", "case", "make", "find"), ALL)
def test_nothing_known_fires_nothing(rule: Rule[Any], case: Case, make: Any, find: Any) -> None:
    nothing: Any = {} if make is facts else [{}, {}]
    assert rule(make(nothing)) is None


def test_tables_hold_no_rule_that_is_gone() -> None:
    for rules, table, *_ in GROUPS:
        assert set(table) == {rule.slug for rule in rules}


@pytest.mark.parametrize(
    ("known", "severity"),
    [({"prompt_set": "random-ids"}, "block"), ({"prompt_set": "random"}, "warn")],
)
def test_cut_texts_are_a_warning_and_random_ids_block(known: dict[str, Any], severity: str) -> None:
    (found,) = find_caveats(facts(known))
    assert severity_of(found) == severity


def test_one_failure_in_a_thousand_does_not_block() -> None:
    (found,) = find_load_caveats(levels([{"requests": 1000, "failed": 1}]))
    assert found.severity == "warn"


def test_another_model_of_gpu_blocks() -> None:
    told = [{"environment": {"GPU": "H200"}}, {"environment": {"GPU": "H100"}}]
    (found,) = find_between(arms(told))
    assert (found.slug, found.severity) == ("env-differs", "block")


@pytest.mark.parametrize(
    ("starts", "fires"),
    [
        (((0.0, 30.0), (10.0, 20.0)), False),  # A B B A
        (((0.0, 10.0), (20.0, 30.0)), True),  # A A B B
        (((0.0,), (20.0,)), False),  # one launch each has no order
    ],
)
def test_all_of_one_arm_before_all_of_the_other_is_unpaired(starts: Any, fires: bool) -> None:
    assert bool(find_between(arms([{"starts": each} for each in starts]))) is fires


def test_the_worst_is_shown_first() -> None:
    shown = sorted(
        [("short", "warn"), ("kv-pressure", "info"), ("stale-log", "block"), ("unpaired", "warn")],
        key=lambda each: shown_at(*each),
    )
    assert [slug for slug, _ in shown] == ["stale-log", "short", "unpaired", "kv-pressure"]


def test_an_experiment_is_found_by_slug() -> None:
    assert experiment_of("greedy-sampling").changes == {"temperature": 0.7}
    assert experiment_of("prefix-cache-warm").arms == "one"
    assert experiment_of("prefix-cache-warm", between=True).arms == "all"
    assert experiment_of("tail") is None and experiment_of("no-such-rule") is None
