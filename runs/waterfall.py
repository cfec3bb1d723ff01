"""The drawing of a gain ledger: bars that begin where the one before them ends.

Pure: a ledger comes in, places and words go out. Heights are logarithms, so bars add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from runs.metrics.format import number, rounded, signed
from runs.metrics.ledger import Bar, Ledger

WIDTH, HEIGHT = 460, 196
TOP, BOTTOM = 34.0, 150.0  # between these lie the bars; words stand above and beneath
BAR = 50.0
LEAST = 2.0  # a bar of nothing can still be seen

_UNITS = {"steps": "/s", "per_request": " tok/s"}


@dataclass(frozen=True)
class Step:
    """A bar of the drawing, in its units. ``whisker`` is the interval's upper and lower place."""

    label: str
    change: str
    values: str
    tone: str
    x: float
    y: float
    height: float
    centre: float
    change_y: float
    link: tuple[float, float, float]  # x from, x to, y: to the next bar
    whisker: tuple[float, float] | None


@dataclass(frozen=True)
class Waterfall:
    """All bars, the last of them the whole. ``label`` says the same in words."""

    steps: list[Step]
    zero: float
    label: str
    width: int = WIDTH
    height: int = HEIGHT
    bar: float = BAR


def percent(ratio: float) -> str:
    """1.0735 gives '+7.4 %', 2.94 '×2.94': factors of two and more are no percents."""
    if ratio >= 2:
        return f"×{rounded(ratio, 2)}"
    change = (ratio - 1) * 100
    text = rounded(abs(change), 1)
    if not text.strip("0."):
        return "0 %"
    return f"+{text} %" if change > 0 else f"{signed(text, change)} %"


def values(bar: Bar) -> str:
    """'2.40 → 3.08', '50.0 → 42.6/s'; of the remainder what the client saw of the log's tokens."""
    if bar.key == "remainder":
        return f"{rounded(bar.before * 100, 0)} → {rounded(bar.after * 100, 0)} %"
    digits = 2 if bar.key == "accept_len" else 1
    unit = _UNITS.get(bar.key, "")
    return f"{number(bar.before, digits)} → {number(bar.after, digits)}{unit}"


def waterfall(ledger: Ledger, before: float, after: float) -> Waterfall:
    """Draw a ledger with bars; ``before`` and ``after`` are the client's tok/s."""
    ends, at = [], 0.0
    for bar in ledger.bars:
        ends.append((at, at + bar.d))
        at += bar.d
    ends.append((0.0, ledger.d))
    low = min(0.0, *(min(pair) for pair in ends))
    high = max(0.0, *(max(pair) for pair in ends))
    scale = (BOTTOM - TOP) / (high - low) if high > low else 0.0
    y = partial(_place, high, scale)

    slot = WIDTH / len(ends)
    steps = []
    for n, bar in enumerate(ledger.bars):
        start, end = ends[n]
        words = (bar.label, percent(bar.ratio), values(bar))
        steps.append(_step(words, (start, end), slot * n, slot, y, _whisker(bar, start, y)))
    worth = f"{number(before)} → {number(after)}"
    whole = ("output tok/s", percent(ledger.ratio), worth)
    steps.append(_step(whole, ends[-1], slot * len(ledger.bars), slot, y, None))
    said = ", ".join(f"{step.label} {step.change}" for step in steps[:-1])
    return Waterfall(steps, y(0.0), f"{said}, together {whole[1]}")


def _step(
    words: tuple[str, str, str],
    ends: tuple[float, float],
    left: float,
    slot: float,
    y: Callable[[float], float],
    whisker: tuple[float, float] | None,
) -> Step:
    start, end = ends
    top, x = y(max(start, end)), left + (slot - BAR) / 2
    label, change, worth = words
    return Step(
        label=label,
        change=change,
        values=worth,
        tone=_tone(end - start),
        x=x,
        y=top,
        height=max(LEAST, y(min(start, end)) - top),
        centre=x + BAR / 2,
        change_y=(min(top, whisker[0]) if whisker else top) - 7,
        link=(x + BAR, x + slot, y(end)),
        whisker=whisker,
    )


def _place(high: float, scale: float, value: float) -> float:
    return TOP + (high - value) * scale if scale else (TOP + BOTTOM) / 2


def _whisker(bar: Bar, start: float, y: Callable[[float], float]) -> tuple[float, float] | None:
    if bar.low is None or bar.high is None:
        return None
    return y(start + math.log(bar.high)), y(start + math.log(bar.low))


@dataclass(frozen=True)
class Gauge:
    """Where a break-even lies between nothing accepted and what is accepted now, in per cent."""

    even: float
    now: float
    loses: bool


def gauge(ledger: Ledger) -> Gauge | None:
    """From an accept len of 1 to somewhat more than the larger of the two."""
    length = next((bar.after for bar in ledger.bars if bar.key == "accept_len"), None)
    if ledger.break_even is None or length is None:
        return None
    most = 1 + 1.12 * (max(length, ledger.break_even) - 1)
    even, now = ((each - 1) / (most - 1) * 100 for each in (ledger.break_even, length))
    return Gauge(max(0.0, even), now, ledger.break_even > length)


def _tone(d: float) -> str:
    return "same" if abs(d) < 0.005 else "up" if d > 0 else "down"
