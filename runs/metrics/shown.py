"""How measured values look, the same on pages and in exports. Unknown is a dot, never a zero."""

import math
from collections.abc import Mapping
from typing import Any

UNKNOWN = "·"
MINUS = "\u2212"


def tps(value: float | None) -> str:
    """Tokens per second: 71.4, 1,213; unknown is a dot."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"


def number(value: float | None, digits: int = 0) -> str:
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{value:,.{digits}f}".replace("-", MINUS)


def percent(value: float | None, digits: int = 0) -> str:
    """A share (0.24) as "24 %"."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{value * 100:.{digits}f} %".replace("-", MINUS)


def change(ratio: float | None, digits: int | None = None) -> str:
    """A ratio as a signed change: 1.5 is "+50 %", 0.77 is "−23 %", and 0.998 "−0.2 %"."""
    if ratio is None or not math.isfinite(ratio):
        return UNKNOWN
    value = (ratio - 1) * 100
    if digits is None:  # a whole per cent would hide what is small
        digits = 1 if abs(value) < 2 else 0
    rounded = f"{abs(value):.{digits}f}"
    if float(rounded) == 0:
        return "0 %"
    return f"{'+' if value > 0 else MINUS}{rounded} %"


def ms(seconds: float | None) -> str:
    """Seconds as milliseconds for short times: "53 ms", "1.35 s", "10.9 s"."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    if seconds >= 10:
        return f"{seconds:.1f} s"
    if seconds >= 1:
        return f"{seconds:.2f} s"
    value = seconds * 1000
    return f"{value:.0f} ms" if value >= 100 else f"{value:.1f} ms"


def evidence_words(evidence: Mapping[str, Any]) -> str:
    """ "limit 21 · concurrency 32": the measured values of a caveat, each with its name."""
    parts = []
    for key, value in evidence.items():
        if isinstance(value, bool):
            value = "yes" if value else "no"
        elif isinstance(value, float):
            value = number(value, 2)
        elif isinstance(value, list | tuple):
            value = ", ".join(map(str, value))
        elif isinstance(value, dict):
            value = ", ".join(f"{k}: {v}" for k, v in value.items())
        parts.append(f"{key.replace('_', ' ')} {value}")
    return " · ".join(parts)
