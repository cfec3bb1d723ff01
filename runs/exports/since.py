"""What later evidence says otherwise than a frozen copy: old words and new words side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runs.metrics.shown import change, ms, number, tps

Told = Mapping[str, Any]

_FIGURES: list[tuple[str, str, Callable[[Any], str]]] = [
    ("output", "output tok/s", tps),
    ("user", "tok/s per user", tps),
    ("accept", "accept len", lambda value: number(value, 2)),
    ("ttft", "TTFT", ms),
    ("tpot", "TPOT", ms),
]


def changed_since(frozen: Told, live: Told | None) -> dict[str, Any] | None:
    """None while both say the same. ``live`` None: an arm is no longer there.

    Both are descriptions by the same allow-list, so nothing else can come out.
    """
    if live is None:
        return {"gone": True, "launches": [], "pairs": [], "came": [], "went": []}
    told: dict[str, Any] = {
        "gone": False,
        "launches": _launches(frozen["arms"], live["arms"]),
        "pairs": [
            pair
            for old, new in zip(frozen["pairs"], live["pairs"], strict=False)
            if (pair := _pair(old, new)) is not None
        ],
        "came": _apart(live["caveats"], frozen["caveats"]),
        "went": _apart(frozen["caveats"], live["caveats"]),
    }
    contradicted = told["pairs"] or told["came"] or told["went"] or told["launches"]
    return told if contradicted else None


def _launches(old: Sequence[Told], new: Sequence[Told]) -> list[dict[str, Any]]:
    return [
        {"arm": before["name"], "before": before["launches"], "now": now["launches"]}
        for before, now in zip(old, new, strict=False)
        if before["launches"] != now["launches"]
    ]


def _pair(old: Told, new: Told) -> dict[str, Any] | None:
    rows = {row["concurrency"]: row for row in old["rows"]}
    now = {row["concurrency"]: row for row in new["rows"]}
    levels = [
        level
        for concurrency in sorted({*rows, *now})
        if (level := _level(concurrency, rows.get(concurrency), now.get(concurrency))) is not None
    ]
    said = old["sentence"] != new["sentence"]
    if not said and not levels:
        return None
    return {
        "base": old["base"],
        "other": old["other"],
        "before": old["sentence"] if said else "",
        "now": new["sentence"] if said else "",
        "levels": levels,
    }


def _level(concurrency: int, old: Told | None, new: Told | None) -> dict[str, Any] | None:
    before, now = _word(old), _word(new)
    figures = _figures(old, new) if old and new else []
    if before == now and not figures:
        return None
    return {"concurrency": concurrency, "before": before, "now": now, "figures": figures}


def _word(row: Told | None) -> dict[str, str]:
    """The change and how sure it is, as the tiles of the page say them."""
    if row is None:
        return {"change": "", "glyph": "", "word": "not measured", "tone": "none"}
    told = row["change_words"] or change(row["headline"]["ratio"])
    return {"change": told, "glyph": row["glyph"], "word": row["word"], "tone": row["tone"]}


def _figures(old: Told, new: Told) -> list[dict[str, str]]:
    """Metrics whose shown values are others now."""
    found = []
    for key, name, show in _FIGURES:
        before, now = (
            f"{show(row[key]['before'])} → {show(row[key]['after'])}" for row in (old, new)
        )
        if before != now:
            found.append({"name": name, "before": before, "now": now})
    return found


def _apart(these: Sequence[Told], those: Sequence[Told]) -> list[str]:
    """Titles of caveats that stand in these and not in those; a dismissed one does not stand."""
    there = {each["title"] for each in those if not each["dismissed"]}
    return [each["title"] for each in these if not each["dismissed"] and each["title"] not in there]
