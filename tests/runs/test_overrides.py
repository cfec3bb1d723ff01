"""Words of an address to typed changes."""

from __future__ import annotations

from typing import Any

import pytest

from runs.actions.launch import Refused
from runs.overrides import as_words, parse_overrides


@pytest.mark.parametrize(
    ("word", "key", "value"),
    [
        ("--speculative-num-steps=3", "--speculative-num-steps", 3),
        ("--mem-fraction-static=0.8", "--mem-fraction-static", 0.8),
        ("--disable-cuda-graph", "--disable-cuda-graph", True),
        ("--disable-cuda-graph=", "--disable-cuda-graph", None),
        ("--attention-backend=triton", "--attention-backend", "triton"),
        ("temperature=0.7", "temperature", 0.7),
        ("ignore_eos=false", "ignore_eos", False),
        ("max_tokens=512", "max_tokens", 512),
        ("prompt_set=code", "prompt_set", "code"),
        # no number that would be written otherwise than it was typed
        ("--revision=1234e5", "--revision", "1234e5"),
        ("--revision=007", "--revision", "007"),
        ("--top=1_000", "--top", "1_000"),
        ("--top=nan", "--top", "nan"),
        ("--top=1e999", "--top", "1e999"),
        ("--top=" + "9" * 5000, "--top", "9" * 5000),
        ("--speculative-num-steps=٣", "--speculative-num-steps", "٣"),
    ],
)
def test_it_reads_a_change(word: str, key: str, value: Any) -> None:
    assert parse_overrides([word]) == {key: value}
    assert parse_overrides(as_words({key: value})) == {key: value}


@pytest.mark.parametrize(
    ("word", "field"),
    [
        ("temperature=3", "temperature"),
        ("temperature=warm", "temperature"),
        ("temperature=nan", "temperature"),
        ("max_tokens=0", "max_tokens"),
        ("max_tokens=", "max_tokens"),
        ("ignore_eos=perhaps", "ignore_eos"),
        ("prompt_set=poems", "prompt_set"),
        ("steps=3", "steps"),
        ("-x=1", "-x"),
        ("--bad flag=1", "--bad flag"),
        ("; rm -rf /", "; rm -rf /"),
    ],
)
def test_it_refuses_what_cannot_be_right_and_names_it(word: str, field: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_overrides([word])
    assert refused.value.field == field


def test_it_takes_no_endless_list() -> None:
    with pytest.raises(Refused):
        parse_overrides([f"--flag-{n}=1" for n in range(50)])
