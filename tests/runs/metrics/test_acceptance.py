from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.engines.base import Sample
from runs.metrics.acceptance import definition, inclusive_rate, level_accept_len, strict_rate
from tests.runs.samples import decode, prefill


@pytest.mark.parametrize(
    ("rate", "length", "draft", "steps", "expected"),
    [
        (0.84, 3.52, 4, 3, "strict"),
        (0.72, 3.15, 4, 3, "strict"),
        (0.97, 1.95, 2, 1, "inclusive"),
        (0.35, 3.46, 8, None, "strict"),
        (0.54, 2.17, 4, 3, "inclusive"),
        (0.11, 1.00, 9, None, "inclusive"),
        (1.32, 2.64, 3, 2, "per-step"),
        (0.50, 3.52, 4, 3, "unknown"),
        (1.00, 4.00, 4, 3, "ambiguous"),
        (0.84, 3.52, None, None, "unknown"),
    ],
)
def test_it_tells_by_which_formula_a_rate_was_printed(
    rate: float, length: float, draft: int | None, steps: int | None, expected: str
) -> None:
    assert definition(rate, length, draft, steps) == expected


@given(st.integers(2, 16), st.floats(0, 1))
def test_a_printed_strict_rate_is_never_called_inclusive(draft: int, accepted: float) -> None:
    length = 1 + accepted * (draft - 1)
    printed = round((length - 1) / (draft - 1), 2)
    assert definition(printed, round(length, 2), draft) in ("strict", "ambiguous")


def test_rates_of_a_server_that_drafts_nothing_are_unknown() -> None:
    assert strict_rate(1.0, 1) is None
    assert inclusive_rate(1.0, 0) is None


def test_accept_len_over_lines_is_a_ratio_of_sums() -> None:
    lines = [decode(accept_len=2.0, running=30), decode(accept_len=3.0, running=10), prefill()]
    assert level_accept_len(lines) == pytest.approx((2 * 30 + 3 * 10) / 40)


def test_without_running_it_is_the_plain_mean_and_without_lines_unknown() -> None:
    lines = [decode(accept_len=2.0, running=None), decode(accept_len=3.0, running=10)]
    assert level_accept_len(lines) == 2.5
    assert level_accept_len([decode(), prefill()]) is None


def test_the_accept_len_of_intervals_weighs_each_by_what_it_drafted() -> None:
    def interval(length: float, drafted: int) -> Sample:
        extras = {"drafted_tokens": drafted}
        return replace(
            decode(accept_len=length), phase="spec_interval", running=None, extras=extras
        )

    lines = [interval(2.0, 300), interval(3.0, 100)]
    assert level_accept_len(lines) == pytest.approx((2 * 300 + 3 * 100) / 400)
