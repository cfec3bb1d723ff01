"""Rules about what the load met, level by level."""

from __future__ import annotations

from typing import Any

from runs.caveats.load import LevelFacts
from runs.caveats.registry import find_load_caveats


def level(concurrency: int, **known: Any) -> LevelFacts:
    nothing: dict[str, Any] = {
        "requests": 96, "failed": 0, "flushed": None, "flush_answer": "", "prompt_tokens": None,
        "cached_tokens": None,
    }  # fmt: skip
    return LevelFacts(concurrency=concurrency, **nothing | known)


def found(*levels: LevelFacts) -> dict[str, str]:
    return {finding.slug: finding.text for finding in find_load_caveats(levels)}


def test_a_quiet_run_has_none() -> None:
    cold = level(4, flushed=True, prompt_tokens=9000, cached_tokens=600)
    assert found(level(1), cold) == {}


def test_failed_requests_are_counted_over_the_levels() -> None:
    told = found(level(1), level(4, failed=2), level(16, failed=30))
    assert "32 of 192 requests failed at level 4, 16" in told["failed-requests"]


def test_a_refused_flush_names_its_levels() -> None:
    told = found(level(1, flushed=True), level(4, flushed=False, flush_answer="busy"))
    assert "before level 4" in told["cache-flush-failed"]


def test_the_warmest_level_is_told_with_its_share() -> None:
    few = level(1, prompt_tokens=1000, cached_tokens=500)
    assert found(few) == {}  # a template's few tokens
    told = found(level(4, prompt_tokens=9000, cached_tokens=4500), few)
    assert "50" in told["prefix-cache-warm"] and "level 4" in told["prefix-cache-warm"]
