"""CSV: one row per arm and concurrency. Numbers have all their digits, units stand in the header.

Times are seconds, speeds tokens per second, changes ratios; an empty cell was not measured.
"""

from __future__ import annotations

import csv
import io
import math
import unicodedata
from collections.abc import Mapping
from typing import Any

# What a spreadsheet takes for a formula, in any width; and what it would skip before one.
_TRIGGERS = ("=", "+", "-", "@", "\t", "\r", "\n", "\u2212")

# (heading, key of a row's figure)
_FIGURES = [
    ("output (tok/s)", "output"),
    ("per user (tok/s)", "user"),
    ("accept len (tokens/step)", "accept"),
    ("TTFT p50 (s)", "ttft"),
    ("TPOT p50 (s)", "tpot"),
]
_JUDGED = [
    ("verdict ratio", "ratio"),
    ("CI low (ratio)", "low"),
    ("CI high (ratio)", "high"),
    ("p, Holm", "p_adjusted"),
    ("factor (half-widths)", "factor"),
    ("more repeats", "more"),
]
_FACTORS = ("occupancy", "accept_len", "steps", "per_request", "remainder")
_LEDGER = [("ledger break-even accept len", "break_even"), ("ledger margin (share)", "margin")]


def as_csv(told: Mapping[str, Any], link: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out)  # RFC 4180: quotes where needed, lines end in CR LF
    writer.writerow(_header())
    for pair in told["pairs"]:
        ledgers = {level["concurrency"]: level for level in pair["why"]["levels"]}
        for row in pair["rows"]:
            cells = _row(pair, row, ledgers.get(row["concurrency"]))
            simulated = "yes" if told["simulated"] else "no"
            writer.writerow([cell(each) for each in (*cells, simulated, told["made_at"], link)])
    return out.getvalue()


def _header() -> list[str]:
    figures = [
        f"{name}, {side}"
        for name, _ in _FIGURES
        for side in ("baseline", "arm", "arm over baseline")
    ]
    return [
        "baseline", "arm", "concurrency (requests)", "launches, baseline", "launches, arm",
        *figures, "judged metric", "verdict", "confidence of the CI (share)",
        *(name for name, _ in _JUDGED), "capped",
        *(f"ledger {key.replace('_', ' ')} (ratio)" for key in _FACTORS),
        *(name for name, _ in _LEDGER), "simulated", "as of", "link",
    ]  # fmt: skip


def _row(
    pair: Mapping[str, Any], row: Mapping[str, Any], ledger: Mapping[str, Any] | None
) -> list[Any]:
    headline, judged = row["headline"], row["verdict"] or {}
    bars = {bar["key"]: bar["ratio"] for bar in ledger["bars"]} if ledger else {}
    figures = [row[key][name] for _, key in _FIGURES for name in ("before", "after", "ratio")]
    return [
        pair["base"], pair["other"], row["concurrency"],
        headline["launches_before"], headline["launches_after"],
        *figures, row["metric"], row["word"], confidence(pair),
        *(judged.get(key) for _, key in _JUDGED), row["capped"],
        *(bars.get(key) for key in _FACTORS),
        *((ledger or {}).get(key) for _, key in _LEDGER),
    ]  # fmt: skip


def confidence(pair: Mapping[str, Any]) -> float:
    """Of the intervals: 0.95, more where a plan looks at its results several times."""
    told: float = pair.get("judged", {}).get("confidence", 0.95)  # older copies did not say it
    return told


def cell(value: Any) -> Any:
    """A number as it is, nothing for what is not known, and text that no program computes."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, int | float):
        return value
    text = str(value)
    plain = unicodedata.normalize("NFKC", text).lstrip(" \u00a0\u200b\ufeff")
    return f"'{text}" if plain.startswith(_TRIGGERS) or text.startswith(_TRIGGERS) else text
