"""A latency is worse only if it is so at the rate that the baseline achieved as well."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runs.metrics.equalrate import at_equal_rate
from runs.metrics.noise import Noise
from runs.metrics.verdict import Case, Judgement, verdict
from runs.metrics.wording import Word

QUIET = Noise(0.005, 8.0, history=12)
NOISE = dict.fromkeys((1, 8, 16), QUIET)
# 30 % more tokens per second, and at equal concurrency 8 % more time to the first token
SLOW = {1: 100.0, 8: 700.0, 16: 1100.0}
FAST = {level: 1.3 * tps for level, tps in SLOW.items()}
BEFORE = {1: 0.010, 8: 0.025, 16: 0.042}
AFTER = {1: 0.010, 8: 0.027, 16: 0.04536}


def spread(values: dict[int, float]) -> list[dict[int, float]]:
    return [{level: value * (1 + n / 1000) for level, value in values.items()} for n in range(3)]


def judged(after: dict[int, float], *, eased: bool) -> Judgement:
    guard = Case(spread(BEFORE), spread(after), metric="ttft_p50", noise=NOISE)
    if eased:
        at_rate = at_equal_rate(guard.after, spread(FAST), spread(SLOW))
        guard = replace(guard, at_rate=replace(guard, after=at_rate))
    return verdict(Case(spread(SLOW), spread(FAST), noise=NOISE, guards=(guard,)))


def test_it_reads_between_the_levels_and_extrapolates_nothing() -> None:
    (found,) = at_equal_rate([AFTER], [FAST], [SLOW])
    # 100 tok/s lie below what the arm served to a single client
    assert sorted(found) == [8, 16]
    assert found[8] == pytest.approx(0.010 + 0.017 * (700 - 130) / (910 - 130))
    assert found[16] == pytest.approx(0.027 + 0.01836 * (1100 - 910) / (1430 - 910))


def test_equal_rates_compare_the_level_itself() -> None:
    almost = {level: 1.015 * tps for level, tps in SLOW.items()}
    assert at_equal_rate([AFTER], [almost], [SLOW]) == [AFTER]


def test_a_level_that_was_not_measured_is_left_out() -> None:
    assert at_equal_rate([{8: 0.027}], [{8: 910.0}], [SLOW]) == [{}]


def test_the_price_of_serving_more_is_no_loss() -> None:
    assert judged(AFTER, eased=False).sweep.word is Word.MIXED
    found = judged(AFTER, eased=True)
    assert (found.sweep.word, found.against) == (Word.CLEARLY_BETTER, ())


def test_what_is_worse_at_equal_rate_too_is_mixed() -> None:
    found = judged({level: 2 * value for level, value in BEFORE.items()}, eased=True)
    assert found.sweep.word is Word.MIXED
    assert "worse at 1, 8, 16" in found.against[0]
