"""The simulation of false alarms, in small: the rule keeps its promise, and finds what is there."""

from __future__ import annotations

import random

import pytest

from benchmarks.false_alarms import Setting, launches, measure, settings

TRIALS = 400


@pytest.mark.parametrize(
    "setting",
    [s for s in settings() if s.promised and (s.levels == 1 or s.repeats != 5)],
    ids=lambda s: f"{s.name}, {s.told_repeats} repeats, {s.levels} levels",
)
def test_of_like_arms_hardly_any_is_called_different(setting: Setting) -> None:
    found = measure(setting, TRIALS)
    assert found.false_alarms - found.error <= 0.05
    assert found.power > 3 * found.false_alarms


def test_the_same_seed_gives_the_same_table() -> None:
    setting = Setting("known noise", 1, repeats=3)
    assert measure(setting, 50) == measure(setting, 50)


def test_noise_that_nobody_knows_of_is_why_words_are_only_likely() -> None:
    (loud,) = [s for s in settings() if not s.promised and s.repeats == 2]
    assert measure(loud, TRIALS).false_alarms > 0.05


def test_levels_of_one_launch_share_its_luck() -> None:
    (launch,) = launches(random.Random(1), 1, Setting("known noise", 6, sd=0.0, repeats=2), 0.0)
    assert set(launch.values()) == {1000.0}
