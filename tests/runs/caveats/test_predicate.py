"""A predicate is read, never executed, and asks only what is on the list."""

from __future__ import annotations

import pytest

from runs.caveats.predicate import KEYS, PredicateError, holds, read_predicate

VALUES = {
    "workload.temperature": 0.0,
    "workload.ignore_eos": True,
    "workload.prompt_set": "random-ids",
    "config.spec_algorithm": "NEXTN",
    "config.spec_steps": 3,
    "config.model": "Qwen3.5-122B-A10B",
}


@pytest.mark.parametrize(
    "text",
    [
        "workload.temperature == 0",
        "workload.temperature==0.0 and config.spec_algorithm != none",
        "config.spec_steps >= 3 AND config.spec_steps < 4",
        "workload.ignore_eos == true",
        "config.model == qwen3.5-122b-a10b",
        'workload.prompt_set == "random-ids"',
        "config.tp == none",  # what is not known is none
        "workload.max_tokens != 256",
    ],
)
def test_it_holds(text: str) -> None:
    assert holds(read_predicate(text), VALUES)


@pytest.mark.parametrize(
    "text",
    [
        "workload.temperature > 0",
        "workload.temperature == none",
        "config.spec_algorithm == none",
        "workload.ignore_eos == 1",  # true is no number
        "config.tp < 8",  # not known, so in no order
        "workload.temperature == 0 and config.spec_steps == 2",
    ],
)
def test_it_does_not_hold(text: str) -> None:
    assert not holds(read_predicate(text), VALUES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "temperature == 0",
        "__import__('os').system('true')",
        "workload.temperature",
        "workload.temperature = 0",
        "workload.temperature == 0 or config.tp == 1",
        "config.model < word",
        "workload.extra == 1",
        " and ".join(["config.tp == 1"] * 9),
    ],
)
def test_what_is_no_predicate_is_refused(text: str) -> None:
    with pytest.raises(PredicateError):
        read_predicate(text)


def test_every_key_says_what_it_is() -> None:
    assert all(KEYS.values())
