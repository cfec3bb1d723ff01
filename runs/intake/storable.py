"""Values as every database can hold them: no NUL, no lone surrogate, no endless number."""

import math
import re

from runs.engines.base import JSON

# PostgreSQL refuses the first in text and JSON, every encoder the others.
_REFUSED = re.compile("[\x00\ud800-\udfff]")
_DEPTH = 40


def text(words: str, limit: int) -> str:
    """Give at most `limit` characters, with a mark for each that cannot be stored."""
    return _REFUSED.sub("\ufffd", words[:limit])


def value(told: object, depth: int = _DEPTH) -> JSON:
    """Give what JSON can hold; an endless number becomes a word, too deep a nest its repr."""
    if told is None or isinstance(told, bool):
        return told
    if isinstance(told, int):
        return told if abs(told) < 2**63 else str(told)
    if isinstance(told, float):
        return told if math.isfinite(told) else str(told)
    if isinstance(told, str):
        return _REFUSED.sub("\ufffd", told)
    if depth == 0:
        return text(repr(told), 400)
    if isinstance(told, dict):
        return {text(str(key), 400): value(each, depth - 1) for key, each in told.items()}
    if isinstance(told, list | tuple | set):
        return [value(each, depth - 1) for each in told]
    return text(str(told), 400)


def mapping(told: dict[str, JSON]) -> dict[str, JSON]:
    """Give the same for an object."""
    return {text(str(key), 400): value(each) for key, each in told.items()}
