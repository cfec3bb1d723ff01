"""A small comparison as the exports get it."""

from __future__ import annotations

from typing import Any


def change(before: float | None, after: float | None) -> dict[str, Any]:
    known = before is not None and after is not None and before > 0
    ratio = after / before if known and before and after is not None else None
    return {
        "before": before,
        "after": after,
        "ratio": ratio,
        "change": None if ratio is None else ratio - 1,
        "launches_before": int(before is not None),
        "launches_after": int(after is not None),
    }


def row(concurrency: int, before: float, after: float | None, **more: Any) -> dict[str, Any]:
    return {
        "concurrency": concurrency,
        "output": change(before, after),
        "user": change(None, None),
        "accept": change(1.5, 2.4),
        "ttft": change(0.02, 0.0213),
        "tpot": change(None, None),
        "headline": change(before, after),
        "metric": "output_tps",
        "tone": "up",
        "glyph": "+",
        "word": "better",
        "clear": False,
        "change_words": "+50 %",
        "interval": "+45 to +56 %",
        "more": "",
        "capped": "",
        "remark": "",
        "verdict": {
            "word": "better", "likely": False, "ratio": 1.503, "low": 1.45, "high": 1.56,
            "p": 0.001, "p_adjusted": 0.002, "factor": 9.0, "more": None, "remarks": [],
        },
        "dots": [],
        **more,
    }  # fmt: skip


def comparison() -> dict[str, Any]:
    unjudged = {"verdict": None, "word": "one side only", "glyph": "·", "interval": "",
                "change_words": "", "tone": "none"}  # fmt: skip
    bars = [
        {"key": "occupancy", "before": 1.0, "after": 1.0, "d": 0.0, "ratio": 1.0},
        {"key": "accept_len", "before": 1.5, "after": 2.4, "d": 0.47000362924573563, "ratio": 1.6},
        {"key": "steps", "before": 66.7, "after": 62.7, "d": -0.0618, "ratio": 0.94},
    ]
    return {
        "schema": "throughline-comparison",
        "version": 2,
        "made_at": "30 Nov 2026 12:00 UTC",
        "question": "Does a second step pay?",
        "simulated": False,
        "smoke_test": None,
        "chips": [],
        "expected": None,
        "arms": [arm("A", "steps=1"), arm("B", "steps=2")],
        "pairs": [
            {
                "base": "steps=1",
                "base_letter": "A",
                "other": "steps=2",
                "other_letter": "B",
                "provisional": False,
                "sentence": "steps=2 gives +50 % output tok/s.",
                "second": "",
                "by_lines": "",
                "capped_levels": "",
                "rows": [
                    row(1, 100.123456789, 150.5),
                    row(32, 900.0, None, capped="ran 26 of 32", **unjudged),
                ],
                "changes": [
                    {"key": "--speculative-num-steps", "before": "1", "after": "2",
                     "group": "intended", "why": "set for this arm"},
                ],
                "changes_kept_back": 2,
                "keys": 12,
                "matched": 1,
                "remarks": [],
                "judged": {},
                "why": {
                    "drawn": [1],
                    "levels": [
                        {
                            "concurrency": 1, "before": 100.1, "after": 150.5, "ratio": 1.5035,
                            "bars": [{**bar, "low": None, "high": None} for bar in bars],
                            "d": 0.408, "launches": [1, 1], "break_even": 1.6, "margin": 0.333,
                            "accept_len": 2.4, "whole": "",
                            "words": "Mostly accept len: +60.0 %",
                        }
                    ],
                    "missing": "",
                },
            }
        ],
        "caveats": [
            {
                "slug": "running-capped",
                "title": "Running capped",
                "severity": "warn",
                "metric": "",
                "where": "in both arms",
                "texts": ["The server runs at most 26 requests."],
                "measured": [
                    {"where": "steps=1", "values": {"max_running_requests": 26}},
                    {"where": "steps=2", "values": {"max_running_requests": 21}},
                ],
                "dismissed": False,
                "tests": [],
            }
        ],
        "notes": [],
        "series": [],
    }  # fmt: skip


def arm(letter: str, name: str) -> dict[str, Any]:
    return {
        "letter": letter,
        "name": name,
        "host": "host A",
        "launches": 3,
        "provisional": False,
        "engine": "sglang",
        "engine_version": "0.5.11",
        "model": "Qwen3.5",
        "gpus": "4 × RTX PRO 6000",
        "flags": {"--tp": 4},
        "command": "python3 -m sglang.launch_server --model-path Qwen3.5 --tp 4",
        "running_limit": 26,
        "workload": {},
        "levels": [],
        "log": None,
        "covered": "",
        "missing": [],
        "left_out": [],
    }
