"""Each rule fires on its evidence, and is silent on what is unknown."""

from dataclasses import replace

import pytest

from runs.caveats.base import Facts
from runs.caveats.gather import gather
from runs.caveats.registry import find_caveats
from tests.runs.samples import decode

UNKNOWN = Facts(
    speculative=None,
    temperature=None,
    ignore_eos=None,
    levels=(),
    max_running_requests=None,
    lines=0,
    lines_waiting=0,
    waiting_max=None,
    running_max=None,
    lines_graph_told=0,
    lines_graph_off=0,
    partial_lines=0,
    accept_pairs=(),
    draft_tokens=None,
    steps=None,
    client_tps=None,
    log_tps=None,
)


def slugs(**known: object) -> list[str]:
    return [each.slug for each in find_caveats(replace(UNKNOWN, **known))]


def test_what_is_unknown_fires_nothing() -> None:
    assert slugs() == []


@pytest.mark.parametrize(
    ("slug", "known"),
    [
        ("greedy-sampling", {"temperature": 0.0}),
        ("greedy-sampling", {"temperature": 0.0, "speculative": True}),
        ("ignore-eos", {"ignore_eos": True}),
        ("running-capped", {"max_running_requests": 26, "levels": (16, 32)}),
        ("queueing", {"lines": 10, "lines_waiting": 1, "waiting_max": 3}),
        ("cuda-graph-off", {"lines_graph_told": 10, "lines_graph_off": 1}),
        ("client-log-gap", {"client_tps": 77.0, "log_tps": 67.6}),
        ("client-log-gap", {"client_tps": 50.0, "log_tps": 67.6}),
        ("accept-rate-definition", {"accept_pairs": ((1.95, 0.97),), "draft_tokens": 2}),
        ("accept-rate-definition", {"accept_pairs": ((3.52, 0.5),), "draft_tokens": 4}),
        (
            "accept-rate-definition",
            {"accept_pairs": ((2.64, 1.32),), "draft_tokens": 3, "steps": 2},
        ),
        ("idle-window", {"lines": 4, "partial_lines": 1}),
    ],
)
def test_it_fires(slug: str, known: dict) -> None:
    assert slugs(**known) == [slug]


@pytest.mark.parametrize(
    "known",
    [
        {"temperature": 0.7},
        {"temperature": 0.0, "speculative": False},
        {"ignore_eos": True, "speculative": False},
        {"ignore_eos": False},
        {"max_running_requests": 48, "levels": (16, 48)},
        {"max_running_requests": None, "levels": (4096,)},
        {"lines": 100, "lines_waiting": 9, "waiting_max": 3},
        {"lines_graph_told": 100, "lines_graph_off": 5},
        {"client_tps": 74.0, "log_tps": 67.6},
        {"client_tps": 74.0},
        {"client_tps": 1.0, "log_tps": 0.0},
        {"accept_pairs": ((3.52, 0.84),), "draft_tokens": 4},
        {"accept_pairs": ((4.0, 1.0),), "draft_tokens": 4},
        {"accept_pairs": ((1.95, 0.97),)},
    ],
)
def test_it_is_silent(known: dict) -> None:
    assert slugs(**known) == []


def test_every_finding_says_its_values() -> None:
    (capped,) = find_caveats(replace(UNKNOWN, max_running_requests=26, levels=(1, 32, 64)))
    assert "at most 26" in capped.text
    assert "32 and 64" in capped.text
    assert capped.evidence == {"max_running_requests": 26, "levels": [32, 64]}


def test_facts_come_from_flags_workload_levels_and_log() -> None:
    facts = gather(
        flags={"--speculative-algorithm": "NEXTN", "--speculative-num-draft-tokens": 2},
        effective={"max_running_requests": 26},
        workload={"temperature": 0, "ignore_eos": True},
        levels=[4, 1, 4],
        samples=[
            decode(accept_len=1.9, accept_rate=0.9, graph=True, waiting=2, second=0),
            decode(graph=False, second=1),
        ],
        client_tps=90.0,
    )
    assert facts == replace(
        UNKNOWN,
        speculative=True,
        temperature=0.0,
        ignore_eos=True,
        levels=(1, 4),
        max_running_requests=26,
        lines=2,
        lines_waiting=1,
        waiting_max=2,
        running_max=1,
        lines_graph_told=2,
        lines_graph_off=1,
        accept_pairs=((1.9, 0.9),),
        draft_tokens=2,
        client_tps=90.0,
        log_tps=100.0,
        usage_max=0.0,
    )


def test_unknown_flags_leave_speculation_unknown_and_known_ones_tell_it() -> None:
    given = {"effective": {}, "workload": {}, "levels": [], "samples": [], "client_tps": None}
    assert gather(flags=None, **given).speculative is None
    assert gather(flags={"--tp": 4}, **given).speculative is False
    assert gather(flags=None, **{**given, "samples": [decode(accept_len=1.0)]}).speculative is True
