"""Values for the charts of a comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from runs.compareseries import change_series, comparison_series, front, gpus_of
from runs.metrics.estimate import mean_interval
from runs.metrics.noise import Noise
from runs.metrics.verdict import Case, verdict


@dataclass
class Arm:
    output: dict[int, list[float]]
    name: str = "steps=1"
    letter: str = "A"
    provisional: bool = False
    limit: int | None = None
    flags: dict[str, Any] = field(default_factory=dict)

    @property
    def concurrencies(self) -> list[int]:
        return sorted(self.output)

    def values(self, metric: str, concurrency: int) -> list[float]:
        return self.output[concurrency] if metric == "output_tps" else []

    def mean(self, metric: str, concurrency: int) -> float | None:
        values = self.values(metric, concurrency)
        return sum(values) / len(values) if values else None


@pytest.mark.parametrize(
    ("flags", "gpus"),
    [
        ({}, None),
        ({"--tp": 4}, 4),
        ({"--tensor-parallel-size": 2, "--data-parallel-size": 3}, 6),
        ({"--tp": 8, "--dp": 8, "--enable-dp-attention": True}, 8),
        ({"--tp": 4, "--pp-size": 2}, 8),
        ({"--tp": "auto"}, None),
    ],
)
def test_gpus_are_what_the_flags_say(flags: dict[str, Any], gpus: int | None) -> None:
    assert gpus_of(flags) == gpus


def test_a_point_has_its_whisker_and_its_share_of_a_gpu() -> None:
    [side] = comparison_series([Arm({16: [990.0, 1010.0]}, flags={"--tp": 4})])
    [point] = side["points"]
    assert point["low"] < 990 and point["high"] > 1010
    assert point["gpu"] == 250.0
    assert point["user"] is None and point["accept"] is None and point["steps"] is None


def test_one_launch_has_no_whisker() -> None:
    assert mean_interval([100.0], Noise(0.01, 4.0)) is None
    [side] = comparison_series([Arm({1: [100.0]})])
    assert side["points"][0]["low"] is None and side["points"][0]["gpu"] is None


def test_known_noise_narrows_the_whisker_of_two_launches() -> None:
    alone = mean_interval([100.0, 101.0], None)
    known = mean_interval([100.0, 101.0], Noise(0.005, 8.0))
    assert alone is not None and known is not None
    assert alone[0] < known[0] < 100.5 < known[1] < alone[1]


def points(letter: str, *told: tuple[int, float, float | None]) -> dict[str, Any]:
    return {
        "letter": letter,
        "points": [{"c": c, "user": user, "gpu": gpu} for c, user, gpu in told],
    }


def test_the_front_holds_what_nothing_beats_in_both() -> None:
    a = points("A", (1, 100.0, 10.0), (4, 80.0, 30.0), (16, 50.0, 40.0))
    b = points("B", (1, 120.0, 12.0), (4, 90.0, 33.0), (16, 40.0, 39.0), (32, 60.0, None))
    assert front([a, b], "gpu") == [("A", 16), ("B", 4), ("B", 1)]


def test_the_front_is_of_what_is_shown() -> None:
    a = points("A", (1, 100.0, 10.0))
    assert front([a, points("B", (1, 120.0, 12.0))], "gpu") == [("B", 1)]
    assert front([a], "gpu") == [("A", 1)]


def test_changes_are_those_of_the_verdict() -> None:
    judged = verdict(Case(before=[{1: 100.0}, {1: 101.0}], after=[{1: 110.0}, {1: 111.0}]))
    [side] = change_series([("steps=2", "B", judged)])
    [point] = side["points"]
    level = judged.levels[0]
    assert level.ratio is not None and level.low is not None
    assert point["change"] == level.ratio - 1 and point["low"] == level.low - 1
    assert point["word"] == level.text and side["delta"] == 0.02
