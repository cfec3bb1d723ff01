"""The distributions, against closed forms and published tables."""

import math

import pytest

from runs.metrics.special import beta_share, chi2_quantile, gamma_share, t_quantile, t_two_sided


@pytest.mark.parametrize("t", [0.0, 0.3, 1.0, 4.2, 60.0])
def test_t_with_one_and_two_degrees_of_freedom_has_a_closed_form(t: float) -> None:
    assert t_two_sided(t, 1) == pytest.approx(1 - 2 * math.atan(t) / math.pi, abs=1e-12)
    assert t_two_sided(t, 2) == pytest.approx(1 - t / math.sqrt(2 + t * t), abs=1e-12)


@pytest.mark.parametrize(
    ("share", "df", "told"),
    [
        (0.975, 1, 12.7062),
        (0.975, 2, 4.30265),
        (0.975, 4, 2.77645),
        (0.975, 8, 2.30600),
        (0.975, 12, 2.17881),
        (0.995, 10, 3.16927),
        (0.9, 30, 1.31042),
        (0.8, 12, 0.87261),
        (0.95, 1e6, 1.64485),
    ],
)
def test_quantiles_of_t_are_those_of_the_tables(share: float, df: float, told: float) -> None:
    assert t_quantile(share, df) == pytest.approx(told, rel=1e-5)
    assert t_quantile(1 - share, df) == -t_quantile(share, df)
    assert t_two_sided(t_quantile(share, df), df) == pytest.approx(2 * (1 - share), rel=1e-9)


def test_the_median_of_t_is_zero() -> None:
    assert t_quantile(0.5, 3) == 0


@pytest.mark.parametrize(
    ("share", "df", "told"),
    [
        (0.2, 4, 1.64878),
        (0.2, 10, 6.17908),
        (0.2, 30, 23.36411),
        (0.95, 1, 3.84146),
        (0.5, 2, 1.38629),
    ],
)
def test_quantiles_of_chi_square_are_those_of_the_tables(
    share: float, df: float, told: float
) -> None:
    assert chi2_quantile(share, df) == pytest.approx(told, rel=1e-5)


def test_the_incomplete_functions_at_their_ends_and_where_they_are_simple() -> None:
    assert (beta_share(2, 3, 0), beta_share(2, 3, 1)) == (0, 1)
    assert beta_share(1, 1, 0.37) == pytest.approx(0.37)
    assert beta_share(2, 1, 0.37) == pytest.approx(0.37**2)
    assert beta_share(3, 5, 0.8) == pytest.approx(1 - beta_share(5, 3, 0.2))
    assert gamma_share(1, 0) == 0
    assert gamma_share(1, 2.5) == pytest.approx(1 - math.exp(-2.5))
    assert gamma_share(40, 300) == pytest.approx(1)
