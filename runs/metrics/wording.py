"""The closed list of words that a comparison may say, each with its sign."""

from enum import StrEnum
from typing import Literal, TypeAlias

from runs.metrics.format import MINUS

Tone: TypeAlias = Literal["up", "down", "same", "none"]


class Word(StrEnum):
    """What is said of one figure. "likely" may stand before those that judge."""

    CLEARLY_BETTER = "clearly better"
    BETTER = "better"
    SMALL_GAIN = "real but small"
    SAME = "no difference that matters"
    SMALL_LOSS = "real but small loss"
    WORSE = "worse"
    CLEARLY_WORSE = "clearly worse"
    MIXED = "mixed"
    CANNOT_TELL = "cannot tell"
    HINT = "single launch, a hint"
    UNSAFE = "unsafe"
    NOT_COMPARABLE = "not comparable"
    NOT_MEASURED = "not measured"


BETTER = frozenset({Word.CLEARLY_BETTER, Word.BETTER, Word.SMALL_GAIN})
WORSE = frozenset({Word.CLEARLY_WORSE, Word.WORSE, Word.SMALL_LOSS})
DIRECTED = BETTER | WORSE
CLEAR = frozenset({Word.CLEARLY_BETTER, Word.CLEARLY_WORSE})
# better or worse by more than nobody would care about
MATTERS = DIRECTED - {Word.SMALL_GAIN, Word.SMALL_LOSS}

GLYPHS = {
    Word.CLEARLY_BETTER: "++",
    Word.BETTER: "+",
    Word.SMALL_GAIN: "(+)",
    Word.SAME: "=",
    Word.SMALL_LOSS: f"({MINUS})",
    Word.WORSE: MINUS,
    Word.CLEARLY_WORSE: MINUS * 2,
    Word.MIXED: "±",
    Word.CANNOT_TELL: "?",
    Word.HINT: "·",
    Word.UNSAFE: "!",
    Word.NOT_COMPARABLE: "×",
    Word.NOT_MEASURED: "·",
}


def tone_of(word: Word) -> Tone:
    """Which colour a word has: up is better, whichever way its figure went."""
    if word in BETTER:
        return "up"
    if word in WORSE:
        return "down"
    return "same" if word is Word.SAME else "none"
