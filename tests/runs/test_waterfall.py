"""The drawing of a ledger: bars begin where the last one ended, and say what they are."""

import pytest

from runs.metrics.ledger import Ledger, Told, ledger
from runs.metrics.passes import Factors
from runs.waterfall import BOTTOM, HEIGHT, TOP, WIDTH, gauge, percent, waterfall


def told(occupancy: float, length: float, steps: float) -> Told:
    tps = occupancy * length * steps
    return Told(tps, Factors(tps, occupancy, length, steps, 40))


def example() -> Ledger:
    return ledger([told(31.6, 2.40, 50.0)], [told(31.6, 3.08, 42.6)])


def test_every_bar_begins_where_the_last_one_ended() -> None:
    drawn = waterfall(example(), 3792, 4146)
    assert [step.label for step in drawn.steps] == [
        "occupancy", "accept len", "step rate", "remainder", "output tok/s",
    ]  # fmt: skip
    _, length, steps, _, whole = drawn.steps
    assert length.y + length.height == pytest.approx(drawn.zero)
    assert steps.y == pytest.approx(length.y)
    assert whole.y == pytest.approx(steps.y + steps.height)
    assert whole.y + whole.height == pytest.approx(drawn.zero)


def test_it_says_what_it_shows() -> None:
    drawn = waterfall(example(), 3792, 4146)
    assert drawn.label == (
        "occupancy 0 %, accept len +28.3 %, step rate \u221214.8 %, remainder 0 %, together +9.3 %"
    )
    assert [step.values for step in drawn.steps[1:3]] == ["2.40 → 3.08", "50.0 → 42.6/s"]
    assert [step.tone for step in drawn.steps] == ["same", "up", "down", "same", "up"]


def test_all_of_it_stays_inside() -> None:
    for after in (told(20.0, 1.2, 11.0), told(64, 3.9, 49.0), told(31.6, 2.40, 50.0)):
        drawn = waterfall(ledger([told(31.6, 2.40, 50.0)], [after]), 3792, 4146)
        for step in drawn.steps:
            assert TOP - 0.01 <= step.y <= step.y + step.height <= BOTTOM + 2.01 < HEIGHT
            assert step.x >= 0 and step.x + drawn.bar <= WIDTH


def test_whiskers_hold_the_end_of_their_bar() -> None:
    split = ledger([told(16, 2, 50), told(16, 2.02, 50)], [told(16, 3, 40), told(16, 3.1, 40)])
    for step in waterfall(split, 1600, 1900).steps[:-1]:
        assert step.whisker is not None
        top, foot = step.whisker
        assert top < foot
        assert top <= step.y <= foot or top <= step.y + step.height <= foot


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (1.0736, "+7.4 %"),
        (0.851, "\u221214.9 %"),
        (1.00001, "0 %"),
        (2.94, "×2.94"),
        (0.4, "\u221260.0 %"),
    ],
)
def test_a_factor_of_two_is_no_percentage(ratio: float, said: str) -> None:
    assert percent(ratio) == said


def test_the_gauge_has_the_break_even_below_what_is_accepted_now() -> None:
    found = gauge(example())
    assert found is not None and not found.loses
    assert 0 < found.even < found.now < 100
    losing = gauge(ledger([told(31.6, 2.4, 50)], [told(31.6, 2.5, 30)]))
    assert losing is not None and losing.loses and losing.now < losing.even < 100
    assert gauge(ledger([told(16, 2, 25)], [told(16, 1, 60)])) is None
