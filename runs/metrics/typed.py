"""Figures that a person types, as a comparison takes them; a wrong one is named."""

import math
from collections.abc import Sequence

LEAST_LAUNCHES = 2


class BadFigures(ValueError):
    """What was typed cannot be compared; the text says why and what to type."""


def launches_of(texts: Sequence[str], what: str) -> list[dict[int, float]]:
    """Turn one text per level ('16:3742,3801' or '3742,3801') into launches.

    The n-th figure of every text is the n-th launch. A level without a number is called by its
    place: 1, 2, 3. `what` names the texts in an error.
    """
    levels: dict[int, list[float]] = {}
    for place, text in enumerate(texts, start=1):
        level, figures = _level(text, place, what)
        if level in levels:
            raise BadFigures(f"{what}: level {level} is given twice.")
        levels[level] = figures
    longest = max(map(len, levels.values()))
    return [
        {level: figures[n] for level, figures in levels.items() if n < len(figures)}
        for n in range(longest)
    ]


def _level(text: str, place: int, what: str) -> tuple[int, list[float]]:
    head, colon, rest = text.rpartition(":")
    level = place
    if colon:
        if not head.strip().isdecimal() or int(head) == 0:
            raise BadFigures(f"{what}: '{head}' before the colon is not a number of clients.")
        level = int(head)
    figures = [_figure(part, what) for part in rest.split(",")] if rest.strip() else []
    if len(figures) < LEAST_LAUNCHES:
        raise BadFigures(
            f"{what}: {len(figures)} value{'' if len(figures) == 1 else 's'} given; a verdict needs"
            f" at least {LEAST_LAUNCHES} launches of each arm, such as 3742,3801,3768."
        )
    return level, figures


def _figure(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise BadFigures(f"{what}: '{text.strip()}' is not a number.") from None
    if not math.isfinite(value):
        raise BadFigures(f"{what}: {text.strip()} is not a figure that can be compared.")
    if value <= 0:
        raise BadFigures(
            f"{what}: {text.strip()} is not above zero; ratios need figures above zero."
        )
    return value
