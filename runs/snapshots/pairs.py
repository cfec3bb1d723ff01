"""An arm against the baseline, as it is told: sentence, levels, ledger, what differs."""

from __future__ import annotations

from typing import Any

from runs.comparisons import Pair, Row
from runs.differences import differences
from runs.gains import Gain, Why, why
from runs.metrics.compare import LevelChange
from runs.metrics.ledger import Bar, Ledger
from runs.metrics.verdict import Verdict
from runs.snapshots.allowed import difference_told

_VERDICT = (
    "likely", "ratio", "low", "high", "p", "p_adjusted", "factor", "more",
)  # fmt: skip
_BAR = ("key", "before", "after", "d", "low", "high")
_CHANGE = ("before", "after", "ratio", "change", "launches_before", "launches_after")


NO_LEDGER: dict[str, Any] = {"drawn": [], "levels": [], "missing": ""}


def pair_told(pair: Pair, *, ledger: bool = True) -> dict[str, Any]:
    rows, compared_keys = differences(pair)
    shown = [row for row in rows if difference_told(row)]
    names = ("key", "before", "after", "group", "why")
    return {
        "base": pair.base.name,
        "base_letter": pair.base.letter,
        "other": pair.other.name,
        "other_letter": pair.other.letter,
        "provisional": pair.provisional,
        "sentence": pair.sentence,
        "second": pair.second,
        "by_lines": pair.by_lines,
        "capped_levels": pair.capped_levels,
        "rows": [_row(row) for row in pair.rows],
        "changes": [{name: getattr(row, name) for name in names} for row in shown],
        "changes_kept_back": len(rows) - len(shown),
        "keys": compared_keys,
        "matched": pair.matched,
        "remarks": pair.remarks,
        "judged": _judged(pair),
        "why": _why(pair) if ledger else NO_LEDGER,
    }


def _judged(pair: Pair) -> dict[str, Any]:
    """How it was judged, in figures; the host's name stays at home."""
    judgement = pair.judged.judgement
    noise = judgement.sweep.noise
    return {
        "metric": pair.judged.metric,
        "delta": judgement.delta,
        "confidence": 1 - judgement.alpha,
        "paired": pair.judged.paired,
        "resolution": pair.judged.resolution_words,
        "noise_sd": noise.sd if noise else None,
        "noise_assumed": noise.assumed if noise else None,
        "sweep": None if pair.provisional else _verdict(judgement.sweep),
    }


def _verdict(found: Verdict) -> dict[str, Any]:
    told = {name: getattr(found, name) for name in _VERDICT}
    return {"word": found.text, **told, "remarks": list(found.remarks)}


def _row(row: Row) -> dict[str, Any]:
    figures = ("output", "user", "accept", "ttft", "tpot", "headline")
    words = (
        "tone", "glyph", "word", "clear", "change_words", "interval", "more", "capped", "remark",
    )  # fmt: skip
    return {
        "concurrency": row.concurrency,
        **{name: _change(getattr(row, name)) for name in figures},
        **{name: getattr(row, name) for name in words},
        "edited": list(row.edited),
        "edited_log": list(row.edited_log),
        "metric": row.headline.metric,
        "verdict": _verdict(row.verdict) if row.verdict else None,
        "dots": [{"letter": d.letter, "x": d.x, "value": d.value} for d in row.dots],
    }


def _change(change: LevelChange) -> dict[str, Any]:
    return {name: getattr(change, name) for name in _CHANGE}


def _why(pair: Pair) -> dict[str, Any]:
    """The ledgers of all levels; ``drawn`` are the concurrencies that the page draws."""
    capped = [row.concurrency for row in pair.rows if row.capped]
    found = why(pair.base, pair.other, [row.concurrency for row in pair.rows], capped)
    return {
        "drawn": [gain.concurrency for gain in found.drawn],
        "levels": [_gain(gain) for gain in found.gains],
        "missing": found.missing,
    }


def _gain(gain: Gain) -> dict[str, Any]:
    found = gain.ledger
    return {
        "concurrency": gain.concurrency,
        "before": gain.before,
        "after": gain.after,
        "ratio": found.ratio,
        "bars": [
            {**{name: getattr(bar, name) for name in _BAR}, "ratio": bar.ratio}
            for bar in found.bars
        ],
        "d": found.d,
        "launches": list(found.launches),
        "break_even": found.break_even,
        "margin": found.margin,
        "accept_len": gain.accept_len,
        "words": gain.words,
        "whole": gain.whole,
    }


def why_again(told: dict[str, Any]) -> Why:
    """The ledgers of a frozen pair, to be drawn as on the live page."""
    gains = [_gain_again(each) for each in told["levels"]]
    drawn = [gain for gain in gains if gain.concurrency in told["drawn"]]
    return Why(drawn, gains, told["missing"])


def _gain_again(told: dict[str, Any]) -> Gain:
    bars = tuple(Bar(**{name: bar[name] for name in _BAR}) for bar in told["bars"])
    one, two = told["launches"]
    found = Ledger(bars, told["d"], (one, two), told["break_even"], told["margin"])
    return Gain(told["concurrency"], found, told["whole"], told["before"], told["after"])
