"""Pseudo text: tokens of prompts counted, answers written. Deterministic by prompt and seed."""

from __future__ import annotations

import random
import re
from hashlib import blake2b

from .phrases import PHRASES

TOKEN = re.compile(r"[A-Za-z]{1,8}|\d{1,3}|[^\sA-Za-z\d]|\n+")
PIECE = re.compile(r"\n+|[ ]?[A-Za-z]+|[ ]?\d{1,3}|[ ]*[^\sA-Za-z\d]|[ ]+")
CODE = re.compile(
    r"```|\bdef |\bclass \w+[(:{]|\bfunction\b|\bimport \w|\bSELECT\b|#include|\);|"
    r"\b(?:python|javascript|typescript|golang|rust|sql|regex|code|program|script|unit test)\b",
    re.IGNORECASE,
)
PROSE = re.compile(
    r"\b(?:story|stories|poem|novel|essay|tale|letter|describe|narrat\w+|scene|diary|chapter)\b",
    re.IGNORECASE,
)
SUM = re.compile(r"(\d{1,12})\s*([*×x+]|-(?=\s)|times|plus|minus)\s*(\d{1,12})\b")
SUM_CUE = re.compile(r"\bwhat|how much|compute|calculate|multiply|evaluate|=\s*\?", re.IGNORECASE)

NATURAL_TOKENS = {"chat": 260, "code": 380, "prose": 520}  # median length of an answer
NATURAL_SPREAD = 0.5


def count_tokens(text: str) -> int:
    """Tokens of a text by a simple rule; close to what a real tokenizer counts for English."""
    return len(TOKEN.findall(text))


def tokens_of(text: str) -> list[str]:
    return TOKEN.findall(text)


def pieces(text: str) -> list[str]:
    """A text cut into the pieces that are streamed; joined they give the text again."""
    return PIECE.findall(text)


def kind_of(prompt: str) -> str:
    """'code', 'prose' or 'chat', by the words of the prompt."""
    if CODE.search(prompt):
        return "code"
    return "prose" if PROSE.search(prompt) else "chat"


def answer_to(prompt: str) -> str | None:
    """The worked-out answer if the prompt asks for one product, sum or difference."""
    found = SUM.search(prompt)
    if found is None or not SUM_CUE.search(prompt):
        return None
    left, sign, right = int(found.group(1)), found.group(2), int(found.group(3))
    if sign in ("+", "plus"):
        return f"{left} + {right} = {left + right}."
    if sign in ("-", "minus"):
        return f"{left} - {right} = {left - right}."
    return f"{left} * {right} = {left * right}."


def seed_from(*parts: object) -> int:
    """A stable number from some values (Python's own hash differs from process to process)."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def natural_length(kind: str, seed: int) -> int:
    """Tokens after which the answer would end by itself."""
    drawn = random.Random(seed).lognormvariate(0.0, NATURAL_SPREAD)
    return max(8, int(NATURAL_TOKENS[kind] * drawn))


_POOLS = {kind: [pieces(phrase) for phrase in phrases] for kind, phrases in PHRASES.items()}


class TokenStream:
    """An endless answer, handed out token by token."""

    def __init__(self, kind: str, seed: int, opening: str | None) -> None:
        self._pool = _POOLS[kind]
        self._rng = random.Random(seed)
        first = opening or self._rng.choice(PHRASES[kind]).lstrip(" ")
        self._ready: list[str] = pieces(first)

    def take(self, count: int) -> str:
        """The next `count` tokens as text."""
        while len(self._ready) < count:
            self._ready.extend(self._rng.choice(self._pool))
        taken, self._ready = self._ready[:count], self._ready[count:]
        return "".join(taken)
