from __future__ import annotations

import pytest

from hosts.demo.simulator import text
from hosts.demo.simulator.radix import PrefixCache


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is 15 * 23?", "15 * 23 = 345."),
        ("run-7f 12: what is 17 × 6 ?", "17 * 6 = 102."),
        ("Please compute 120 + 33", "120 + 33 = 153."),
        ("How much is 9 minus 12?", "9 - 12 = -3."),
        ("15 * 23 = ?", "15 * 23 = 345."),
    ],
)
def test_it_works_out_a_product_or_sum(question: str, answer: str) -> None:
    assert text.answer_to(question) == answer


@pytest.mark.parametrize("question", ["Tell me a joke", "y = x[3 * 4]", "What is 2026-11-29?"])
def test_it_works_out_nothing_else(question: str) -> None:
    assert text.answer_to(question) is None


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("Write a Python function that reverses a list", "code"),
        ("Describe the harbour in a short story", "prose"),
        ("How do I keep bread fresh?", "chat"),
    ],
)
def test_it_estimates_the_kind_of_a_prompt(prompt: str, kind: str) -> None:
    assert text.kind_of(prompt) == kind


def test_pieces_join_to_the_text_again() -> None:
    sentence = "def f(x):\n    return x * 23  # näher — 完了\n"
    assert "".join(text.pieces(sentence)) == sentence


def test_an_answer_is_the_same_for_the_same_seed_however_it_is_cut() -> None:
    whole = text.TokenStream("chat", 5, None).take(30)
    parts = text.TokenStream("chat", 5, None)
    assert "".join(parts.take(count) for count in (1, 4, 10, 15)) == whole
    assert text.TokenStream("chat", 6, None).take(30) != whole


def test_the_prefix_cache_finds_whole_blocks_seen_before() -> None:
    cache = PrefixCache(10_000, True)
    tokens = [str(number) for number in range(200)]
    assert cache.look_up(tokens) == 0
    assert cache.look_up(tokens) == 192
    assert cache.look_up([*tokens[:130], "other", *tokens[131:]]) == 128
    assert cache.look_up(["nonce", *tokens]) == 0
    cache.clear()
    assert cache.look_up(tokens) == 0


def test_one_token_of_a_known_prompt_is_always_computed() -> None:
    cache = PrefixCache(10_000, True)
    tokens = ["a"] * 128
    cache.look_up(tokens)
    assert cache.look_up(tokens) == 127


def test_a_full_or_disabled_prefix_cache_forgets() -> None:
    small = PrefixCache(128, True)
    first, second = ["a"] * 128, ["b"] * 128
    small.look_up(first)
    small.look_up(second)
    assert small.look_up(first) == 0
    off = PrefixCache(128, False)
    off.look_up(first)
    assert off.look_up(first) == 0
