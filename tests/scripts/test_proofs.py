"""What `make demo-verdicts` holds a ledger to."""

from __future__ import annotations

import pytest

from runs.gains import Gain
from runs.metrics.ledger import Told, ledger
from runs.metrics.passes import Factors
from scripts.proofs import adds_up, names_the_trade


def launches(length: float, steps: float, *, client: float = 1.0) -> list[Told]:
    """Three launches that differ by a per mille."""
    made = []
    for spread in (1.0, 1.001, 0.999):
        tps = 16 * length * steps * spread
        made.append(Told(tps * client, Factors(tps, 16, length, steps * spread, 40)))
    return made


def gain(before: list[Told], after: list[Told]) -> Gain:
    return Gain(16, ledger(before, after), "", 0.0, 0.0)


def test_a_longer_accept_len_paid_for_with_slower_steps_is_the_trade() -> None:
    assert names_the_trade(gain(launches(1.84, 37.0), launches(2.48, 33.0)))


@pytest.mark.parametrize(
    "after",
    [
        launches(2.48, 37.0),  # nothing is paid for it
        launches(1.70, 40.0),  # the other way round
        launches(1.842, 36.99),  # both within their intervals
        launches(2.48, 33.0, client=0.7),  # something else costs more than the steps
    ],
)
def test_anything_else_is_not(after: list[Told]) -> None:
    assert not names_the_trade(gain(launches(1.84, 37.0), after))


def test_bars_add_up_to_the_digit_that_is_shown() -> None:
    found = gain(launches(1.84, 37.0), launches(2.48, 33.0))
    whole = 2.48 * 33 / (1.84 * 37)
    assert adds_up(found, whole)
    assert not adds_up(found, whole + 0.001)
    assert not adds_up(found, float("nan"))
