import pytest

from runs.metrics.format import number, percent_change, percent_range, seconds, share, times


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (186 / 123 - 1, "+51 %"),
        (70 / 65 - 1, "+8 %"),
        (1146 / 1493 - 1, "−23 %"),
        (0.016, "+1.6 %"),
        (-0.0049, "−0.5 %"),
        (0.0004, "0 %"),
        (0.0, "0 %"),
        (None, "–"),
        (12.5, "+1250 %"),
    ],
)
def test_a_change_has_its_sign_and_as_many_digits_as_it_needs(
    change: float | None, text: str
) -> None:
    assert percent_change(change) == text


def test_a_range_names_the_unit_once() -> None:
    assert percent_range(0.104, 0.5) == "+10 to +50 %"
    assert percent_range(-0.5, -0.1) == "−50 to −10 %"
    assert percent_range(0.101, 0.104) == "+10 %"


def test_shares_factors_and_numbers() -> None:
    assert [share(each) for each in (0.4, 0.351, 0.004, 0, None)] == [
        "40 %",
        "35 %",
        "0.4 %",
        "0 %",
        "–",
    ]
    assert (times(2.533), times(2.39, 1), times(None)) == ("×2.53", "×2.4", "–")
    given = (67.63, 1844.4, 3.516, 26.7, 77, 0, -0.001, -12.34, None, 1_000_000)
    assert [number(each) for each in given] == [
        *("67.6", "1,844", "3.52", "26.7", "77", "0", "0.00", "−12.3", "–", "1,000,000")
    ]


def test_seconds_change_their_unit() -> None:
    given = (0.0123, 0.25, 2.5, 59.96, 125, 7320, None)
    assert [seconds(each) for each in given] == [
        *("12.3 ms", "250 ms", "2.50 s", "60.0 s", "2 min 5 s", "2 h 2 min", "–")
    ]
