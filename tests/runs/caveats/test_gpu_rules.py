"""Rules about the GPUs: each fires on a measured window, and is silent on what is near it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from runs.caveats.base import Finding
from runs.caveats.load import LevelFacts
from runs.caveats.registry import find_load_caveats
from runs.drivers.gpu_records import slowed_bits
from runs.metrics.gpu import gpu_windows

FULL = 1980


def rows(count: int = 40, every: int = 1, **changed: Any) -> list[Any]:
    """Samples of a GPU at work, one a second; every n-th of them is ``changed``."""
    plain: dict[str, Any] = {
        "gpu": 0, "sm_mhz": FULL, "power_w": 500.0, "power_limit_w": 700.0, "temperature_c": 60,
        "utilization": 0.99, "slowed": 0, "strangers": 0, "strangers_bytes": 0,
    }  # fmt: skip
    return [
        SimpleNamespace(time=float(second), **(plain | (changed if second % every == 0 else {})))
        for second in range(count)
    ]


def level(samples: list[Any], **known: Any) -> LevelFacts:
    nothing: dict[str, Any] = {
        "concurrency": 16, "requests": 96, "failed": 0, "flushed": None, "flush_answer": "",
        "prompt_tokens": None, "cached_tokens": None,
    }  # fmt: skip
    return LevelFacts(**nothing | known, gpus=gpu_windows(samples, 0, 1000, FULL))


def found(*levels: LevelFacts) -> dict[str, Finding]:
    return {finding.slug: finding for finding in find_load_caveats(levels)}


def test_a_cool_gpu_at_full_clock_has_none() -> None:
    assert found(level(rows())) == {}
    assert found(level([])) == {}  # not sampled: nothing is known, and nothing is said


def test_heat_is_told_with_clock_count_and_temperature() -> None:
    hot = rows(sm_mhz=1410, slowed=slowed_bits(["software thermal"]), temperature_c=87)
    text = found(level(hot))["thermal-throttle"].text
    assert "GPU 0" in text
    assert "level 16" in text
    assert (
        "down to 1,410 MHz, 71 % of the 1,980 MHz of this arm, and below 95 % in 40 of 40 samples"
        in text
    )
    assert "40 of 40 samples slowed for heat, up to 87 °C" in text


def test_the_power_limit_is_told_with_its_watts() -> None:
    capped = rows(every=5, slowed=slowed_bits(["power cap"]))
    text = found(level(capped))["thermal-throttle"].text
    assert "8 of 40 held at the power limit of 700 W" in text
    assert "for heat" not in text


def test_a_slow_clock_alone_is_enough() -> None:
    slow = found(level(rows(every=4, sm_mhz=1700)))["thermal-throttle"]
    assert slow.evidence["fastest_mhz"] == FULL
    assert "below 95 % in 10 of 40 samples" in slow.text


@pytest.mark.parametrize(
    "near",
    [
        rows(sm_mhz=1890),  # 95.5 %
        rows(every=20, sm_mhz=1700),  # 2 of 40
        rows(every=40, slowed=slowed_bits(["software thermal"])),  # one sample
        rows(every=20, slowed=slowed_bits(["power cap"])),  # 2 of 40
        rows(sm_mhz=345, slowed=slowed_bits(["idle"]), utilization=0.0),  # not at work
        rows(sm_mhz=345, utilization=0.1),
        rows(sm_mhz=None, slowed=None, utilization=None),  # unknown
        rows(2, sm_mhz=1000),  # too few to say anything
    ],
)
def test_what_is_near_it_is_no_throttle(near: list[Any]) -> None:
    assert found(level(near)) == {}


def test_samples_outside_the_window_do_not_count() -> None:
    hot = rows(sm_mhz=1000, slowed=slowed_bits(["hardware thermal"]))
    for row in hot:
        row.time += 2000
    assert found(level(hot)) == {}


def test_the_worst_gpu_of_all_levels_is_named() -> None:
    second = rows(gpu=3, sm_mhz=1200)
    told = found(level(rows(sm_mhz=1700)), level(rows() + second, concurrency=32))
    evidence = told["thermal-throttle"].evidence
    assert (evidence["gpu"], evidence["level"]) == (3, 32)
    assert "in 2 levels" in told["thermal-throttle"].text


def test_others_on_the_gpu_are_counted_with_their_memory() -> None:
    shared = rows(every=4, strangers=2, strangers_bytes=20 * 2**30)
    finding = found(level(shared))["foreign-load"]
    assert "2 other processes were on GPU 0 while level 16" in finding.text
    assert "20.0 GiB" in finding.text
    assert "(10 of 40 samples)" in finding.text
    assert finding.evidence["levels"] == [16]


def test_who_cannot_be_told_is_no_stranger() -> None:
    assert found(level(rows(strangers=None, strangers_bytes=None))) == {}


def test_tokens_that_nobody_here_asked_for_are_told() -> None:
    busy = level([], client_tps=1000.0, log_tps=1100.0, log_seconds=62.0, log_lines=60)
    text = found(busy)["foreign-load"].text
    assert "1,100 tok/s" in text
    assert "1,000 in the same 62 s" in text
    assert "10 % more" in text


@pytest.mark.parametrize(
    "near",
    [
        {"log_tps": 1060.0},  # 6 %, of which the stamps explain 3.2
        {"log_tps": 900.0},  # the client received more: its first tokens are no decode's
        {"log_tps": 1500.0, "log_seconds": 12.0},  # too short to tell
        {"log_tps": 1500.0, "log_lines": 5},
        {"log_tps": None},
        {"client_tps": None},
    ],
)
def test_a_gap_that_the_measure_explains_is_no_foreign_load(near: dict[str, Any]) -> None:
    known = {"client_tps": 1000.0, "log_tps": 1100.0, "log_seconds": 62.0, "log_lines": 60}
    assert "foreign-load" not in found(level([], **known | near))
