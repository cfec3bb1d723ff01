"""Whole numbers as a column can hold them."""

import math

from runs.engines.base import JSON

COLUMN = 2**31 - 1


def whole(value: JSON, top: int = COLUMN) -> int | None:
    """Give a number that is whole and lies in [0, top]; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value) if value == int(value) and 0 <= value <= top else None
