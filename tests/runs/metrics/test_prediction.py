"""Another number of draft steps, held out and predicted: on an H200's figures and on made ones."""

import math
import random

import pytest

from runs.metrics.prediction import Prediction, StepsArm, predict

# showcase/h200-standalone-steps: accept len and output tok/s, by clients and draft steps
H200 = {
    1: {1: (1.805, 255.2), 2: (2.430, 308.5), 3: (2.941, 337.8)},
    16: {1: (1.804, 2034.3), 2: (2.454, 2430.4), 3: (2.968, 2783.1)},
    64: {1: (1.803, 3097.8), 2: (2.443, 3717.4), 3: (2.957, 4104.6)},
}


def told(arms: list[StepsArm], steps: int) -> Prediction:
    found = predict(arms, steps)
    assert found is not None
    return found


def arms(concurrency: int, without: int | None = None) -> list[StepsArm]:
    figures = H200[concurrency].items()
    return [StepsArm(steps, *values) for steps, values in figures if steps != without]


def test_each_steps_of_the_h200_is_foretold_by_the_others() -> None:
    """Nine figures, 80 % bands: the accept len within 1 %, the speed within 7 %."""
    inside = 0
    for concurrency, figures in H200.items():
        for steps, (length, speed) in figures.items():
            found = told(arms(concurrency, without=steps), steps)
            assert found.measured == tuple(s for s in figures if s != steps)
            assert found.accept_len.holds(length)
            assert found.accept_len.value == pytest.approx(length, rel=0.01)
            assert found.output_tps.value == pytest.approx(speed, rel=0.07)
            inside += found.output_tps.holds(speed)
    assert inside >= 8


def test_what_is_further_away_is_less_sure() -> None:
    def width(steps: int) -> float:
        found = told(arms(1), steps).output_tps
        return math.log(found.high / found.low)

    assert width(2) < width(4) < width(8)


def made(dice: random.Random, counts: tuple[int, ...]) -> list[StepsArm]:
    accepted, drop = dice.uniform(0.5, 0.9), dice.uniform(-0.02, 0.01)
    draft = dice.uniform(0.05, 0.4)
    found = []
    for steps in counts:
        length = chance = 1.0
        for position in range(steps):
            chance *= accepted + drop * position
            length += chance
        speed = length / (1 + draft * steps) * math.exp(dice.gauss(0, 0.015))
        found.append(StepsArm(steps, length * math.exp(dice.gauss(0, 0.01)), 100 * speed))
    return found


@pytest.mark.parametrize("counts", [(1, 2, 3, 5), (1, 3, 5), (1, 2, 3, 5, 7)])
def test_the_band_holds_at_about_the_rate_it_states(counts: tuple[int, ...]) -> None:
    """Never less than 80 %; it allows for servers that accept by no formula, so somewhat more."""
    dice = random.Random(17)
    lengths = speeds = total = 0
    for _ in range(200):
        all_arms = made(dice, counts)
        for arm in all_arms:
            found = told([other for other in all_arms if other is not arm], arm.steps)
            lengths += found.accept_len.holds(arm.accept_len)
            speeds += found.output_tps.holds(arm.output_tps)
            total += 1
    assert 0.78 <= lengths / total <= 0.95
    assert 0.78 <= speeds / total <= 0.95


def test_exact_figures_are_continued_exactly() -> None:
    def exact(steps: int) -> StepsArm:
        length = sum(0.8**n for n in range(steps + 1))
        return StepsArm(steps, length, 100 * length / (1 + 0.2 * steps))

    found = told([exact(1), exact(2), exact(3)], 5)
    assert found.accept_len.value == pytest.approx(exact(5).accept_len, rel=1e-6)
    assert found.output_tps.value == pytest.approx(exact(5).output_tps, rel=1e-6)


def test_repeats_narrow_the_band() -> None:
    once, twice = told(arms(1), 4).output_tps, told(arms(1) * 2, 4).output_tps
    assert twice.high / twice.low < once.high / once.low


def test_one_number_of_steps_foretells_nothing() -> None:
    plain = StepsArm(0, 1.0, 205.0)
    assert predict([plain, StepsArm(1, 1.8, 255.0)], 2) is None
    assert predict([StepsArm(1, 1.8, 255.0), StepsArm(1, 1.81, 256.0)], 2) is None
    assert predict([], 2) is None


@pytest.mark.parametrize("steps", [0, -1, 17])
def test_steps_that_nobody_asks_for(steps: int) -> None:
    with pytest.raises(ValueError, match="between 1 and 16"):
        predict(arms(1), steps)


@pytest.mark.parametrize("bad", [StepsArm(2, 0.9, 100.0), StepsArm(2, 1.5, 0.0)])
def test_figures_that_cannot_be_are_refused(bad: StepsArm) -> None:
    with pytest.raises(ValueError, match="accept len of at least 1"):
        predict([*arms(1), bad], 4)


def test_a_draft_that_costs_nothing_and_a_gain_that_ends() -> None:
    free = [StepsArm(1, 1.8, 180.0), StepsArm(2, 1.8, 185.0)]
    found = told(free, 3)
    assert found.accept_len.value == pytest.approx(1.8)
    assert found.output_tps.value > 0
