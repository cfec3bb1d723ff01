"""Launches to an estimate: the published test vectors, and what cannot be estimated."""

import math
from collections.abc import Sequence

import pytest

from runs.metrics.estimate import estimate, far_off, permutation_p
from runs.metrics.noise import Noise, assumed_noise, noise_of, pooled, spread_of
from runs.metrics.planning import (
    alpha_of,
    benjamini_hochberg,
    holm,
    repeats_needed,
    resolution,
)

A, B = (3742, 3801, 3768), (3905, 3871, 3948)
KNOWN = Noise(0.012, 8)


def test_three_against_three_by_a_plain_t_test() -> None:
    found = estimate(A, B, None)
    assert found is not None
    assert found.d == pytest.approx(0.0358503, abs=1e-7)
    assert found.ratio == pytest.approx(1.036501, abs=1e-6)
    assert (found.sd, found.df) == (pytest.approx(0.00891188, abs=1e-8), 4)
    assert found.p == pytest.approx(0.007891, abs=1e-6)
    assert found.interval() == pytest.approx((1.01577, 1.05765), abs=1e-5)


def test_three_against_three_with_the_past_of_the_host() -> None:
    found = estimate(A, B, KNOWN)
    assert found is not None
    assert (found.sd, found.se) == pytest.approx((0.01106679, 0.00903600), abs=1e-8)
    assert (found.df, found.d / found.se) == (12, pytest.approx(3.967501, abs=1e-6))
    assert found.p == pytest.approx(0.00186789, abs=1e-8)
    assert found.interval() == pytest.approx((1.016294, 1.057109), abs=1e-6)
    assert found.factor == pytest.approx(3.967501 / 2.178813, abs=1e-5)


def test_four_blocks_are_judged_by_their_differences() -> None:
    before, after = (3742, 3801, 3768, 3715), (3871, 3948, 3905, 3828)
    found = estimate(before, after, Noise(0.010 / math.sqrt(2), 8), paired=True)
    assert found is not None
    assert (found.d, found.ratio) == pytest.approx((0.0343787, 1.034976), abs=1e-6)
    assert (found.sd, found.se) == pytest.approx((0.00870855, 0.00435427), abs=1e-8)
    assert (found.df, found.d / found.se) == (11, pytest.approx(7.895391, abs=1e-6))
    assert found.p == pytest.approx(7.40e-6, abs=1e-8)
    assert found.interval() == pytest.approx((1.025105, 1.044943), abs=1e-6)
    alone = estimate(before, after, None, paired=True)
    assert alone is not None
    assert (alone.sd, alone.df) == (pytest.approx(0.00337773, abs=1e-8), 3)


def test_two_single_launches_are_told_apart_only_by_the_past() -> None:
    assert estimate((100,), (110,), None) is None
    found = estimate((100,), (110,), KNOWN)
    assert found is not None and found.se == pytest.approx(0.012 * math.sqrt(2))


def test_launches_that_repeat_exactly_still_have_some_noise() -> None:
    found = estimate((100, 100), (101, 101), None)
    assert found is not None and found.sd == 0.001


@pytest.mark.parametrize("bad", [(), (1.0, 0.0), (1.0, -2.0), (1.0, math.nan), (1.0, math.inf)])
def test_figures_must_be_above_zero(bad: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="above zero"):
        estimate(bad, B, KNOWN)


def test_blocks_must_be_whole() -> None:
    with pytest.raises(ValueError, match="one launch of each arm"):
        estimate(A, B[:2], KNOWN, paired=True)


def test_permutation_of_three_against_three_is_never_below_a_tenth() -> None:
    assert permutation_p(A, B) == pytest.approx(0.1)
    assert permutation_p((100, 101, 102, 103), (110, 111, 112, 113)) == pytest.approx(2 / 70)
    assert permutation_p([100] * 12, [110] * 12) is None


def test_holm() -> None:
    told = holm([0.004, 0.020, 0.030, 0.25, 0.011])
    assert told == pytest.approx([0.020, 0.060, 0.060, 0.25, 0.044])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_benjamini_hochberg() -> None:
    told = benjamini_hochberg([0.004, 0.020, 0.030, 0.25, 0.011])
    assert told == pytest.approx([0.020, 0.1 / 3, 0.0375, 0.25, 0.0275])
    assert benjamini_hochberg([0.6, 0.9]) == [0.9, 0.9]
    assert benjamini_hochberg([]) == []


@pytest.mark.parametrize(
    ("sd", "needed"),
    [
        (0.005, [5, 2, 2, 2, 2]),
        (0.010, [17, 5, 3, 2, 2]),
        (0.015, [37, 10, 5, 2, 2]),
        (0.030, [143, 37, 17, 7, 2]),
    ],
)
def test_the_table_of_repeats(sd: float, needed: list[int]) -> None:
    effects = (0.01, 0.02, 0.03, 0.05, 0.10)
    assert [repeats_needed(effect, sd, 8) for effect in effects] == needed


def test_the_table_of_repeats_at_two_per_cent() -> None:
    assert [repeats_needed(effect, 0.02, 8) for effect in (0.02, 0.03, 0.05, 0.1)] == [17, 8, 3, 2]
    assert repeats_needed(-0.03, 0.02, 8) == 8
    assert repeats_needed(0, 0.02, 8) > 300


def test_the_resolution_is_half_an_interval_of_the_known_noise() -> None:
    assert resolution(KNOWN, 3) == pytest.approx(
        math.expm1(2.178813 * 0.012 * math.sqrt(2 / 3)), rel=1e-6
    )
    assert resolution(KNOWN, 5) < resolution(KNOWN, 3) < resolution(KNOWN, 3, paired=True)


def test_looks_share_the_false_alarms() -> None:
    assert [alpha_of(looks) for looks in (1, 2, 3)] == [0.05, 0.0294, 0.0221]
    with pytest.raises(ValueError, match="one to 3 looks"):
        alpha_of(4)


def pooled_of(groups: Sequence[Sequence[float]]) -> Noise | None:
    return pooled(map(spread_of, groups))


def test_noise_comes_from_repeats_and_takes_the_cautious_end() -> None:
    found = pooled_of([(100, 102, 98), (200, 204), (50,), (75, 76)])
    assert found is not None
    assert (found.history, found.df, found.assumed) == (4, 4, False)
    plain = math.sqrt(
        sum(
            (math.log(v) - sum(map(math.log, g)) / len(g)) ** 2
            for g in [(100, 102, 98), (200, 204), (75, 76)]
            for v in g
        )
        / 4
    )
    assert found.sd == pytest.approx(plain * math.sqrt(4 / 1.648777), rel=1e-5)


def test_a_long_past_weighs_no_more_than_eight_degrees_of_freedom() -> None:
    found = pooled_of([(100, 101)] * 30)
    assert found is not None and (found.history, found.df) == (30, 8)


def test_too_short_a_past_tells_nothing() -> None:
    assert pooled_of([(100, 101), (100, 99), (100, 101)]) is None


def test_the_nearest_past_that_is_long_enough_is_taken() -> None:
    near, wide = [spread_of((100, 110))], [spread_of((100, 101))] * 5
    assert noise_of([near, wide], "output_tps").history == 5
    assert noise_of([near], "output_tps") == assumed_noise("output_tps")


@pytest.mark.parametrize(
    ("metric", "sd"),
    [
        ("output_tps", 0.015), ("itl_p50", 0.02), ("ttft_p50", 0.05), ("ttft_p99", 0.08),
        ("accept_len", 0.01),
    ],
)  # fmt: skip
def test_the_rules_of_thumb(metric: str, sd: float) -> None:
    assert assumed_noise(metric) == Noise(sd, 4, assumed=True)


def test_a_launch_far_off_its_arm_is_named() -> None:
    assert far_off((100, 101, 99, 100, 140), KNOWN) == [4]
    assert far_off((100, 101, 99, 100, 101), KNOWN) == []
    assert far_off((100, 101, 120), KNOWN) == [2]
    assert far_off((100, 101, 102), KNOWN) == []
    assert far_off((100, 140), KNOWN) == []
