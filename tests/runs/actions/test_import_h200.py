"""Logs and results of a real H200, together: every figure exactly as the texts have it."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

from runs.actions.import_showcase import import_folder
from runs.comparisons import compare_arms
from runs.models import Arm, Campaign, Level, LogStream, Run, Sample

FOLDER = Path(settings.BASE_DIR) / "showcase" / "h200-standalone-steps"
# output tok/s at 1, 16 and 64 clients, accept len at 1, launch by launch
TOLD = {
    "no speculation": ((205, 2426, 5945), None),
    "steps=1": ((255, 2034, 3098), 1.81),
    "steps=2": ((309, 2430, 3717), 2.43),
    "steps=3": ((338, 2783, 4105), 2.94),
}


@pytest.fixture
def campaign(db: None) -> Campaign:
    return import_folder(folder=FOLDER)


def level(arm: str, concurrency: int) -> Level:
    return Level.objects.get(attempt__run__arm__name=arm, concurrency=concurrency)


def figure(arm: str, concurrency: int) -> tuple[float, float | None]:
    found = level(arm, concurrency)
    length = found.accept_len
    return round(found.output_tps or 0), None if length is None else round(length, 2)


def test_the_figures_are_those_of_the_clients(campaign: Campaign) -> None:
    for arm, (speeds, length) in TOLD.items():
        assert tuple(figure(arm, c)[0] for c in (1, 16, 64)) == speeds
        assert figure(arm, 1)[1] == length


def test_three_steps_win_at_one_and_lose_at_sixty_four(campaign: Campaign) -> None:
    arms = [Arm.objects.get(name=name) for name in ("no speculation", "steps=3")]
    (pair,) = compare_arms(arms).pairs
    ratios = {row.concurrency: row.output.ratio for row in pair.rows}
    told = {c: round(ratios[c] or 0, 2) for c in (1, 16, 64)}
    assert told == {1: 1.65, 16: 1.15, 64: 0.69}
    assert {row.word for row in pair.rows if row.output.change is not None} == {"a hint"}


def test_at_sixty_four_forty_eight_run_and_sixteen_wait(campaign: Campaign) -> None:
    for arm in ("steps=1", "steps=2", "steps=3"):
        found = level(arm, 64)
        lines = Sample.objects.filter(
            stream__attempt=found.attempt, running=48, waiting__gte=16, phase="decode"
        )
        assert lines.exists()
        assert 47 <= (found.running_mean or 0) <= 48 and 15 <= (found.waiting_mean or 0) <= 17
        slugs = set(found.attempt.run.caveats.values_list("slug", flat=True))
        assert {"running-capped", "queueing"} <= slugs
        assert found.attempt.startup["max_running_requests"] == 48
    slugs = Run.objects.get(arm__name="no speculation").caveats.values_list("slug", flat=True)
    assert "running-capped" not in slugs


def test_the_sweep_is_kept_apart_from_the_other_runs(campaign: Campaign) -> None:
    levels = {arm.name: arm.workload.levels for arm in campaign.arms.all()}
    assert levels == {
        "no speculation": [1, 4, 16, 32, 64, 128],
        "steps=1": [1, 16, 64],
        "steps=2": [1, 16, 64],
        "steps=3": [1, 16, 64],
        "no speculation, temp=0.7": [16],
        "no speculation, in=4096, out=128": [8],
        "steps=3, temp=0.7": [16],
    }
    warm = Arm.objects.get(name="steps=3, temp=0.7")
    assert warm.workload.temperature == 0.7
    assert figure(warm.name, 16) == (2616, 2.74)
    assert figure("steps=3", 16) == (2783, 2.97)
    slugs = set(warm.runs.get().caveats.values_list("slug", flat=True))
    assert "greedy-sampling" not in slugs and "running-capped" not in slugs


def test_every_arm_is_one_launch_with_its_own_lines(campaign: Campaign) -> None:
    assert [arm.runs.count() for arm in campaign.arms.all()] == [1] * 7
    counts = {
        name: Sample.objects.filter(stream__attempt__run__arm__name__startswith=name).count()
        for name in TOLD
    }
    lines = {"no speculation": 1677, "steps=1": 496, "steps=2": 449, "steps=3": 565}
    assert counts == lines
    for stream in LogStream.objects.exclude(next_seq=1):
        numbers = list(stream.samples.values_list("seq", flat=True))
        assert numbers == list(range(1, stream.next_seq))


def test_step_time_at_one_is_that_of_the_log(campaign: Campaign) -> None:
    """README: 4.79 ms a step without speculation, 8.62 ms with three draft steps."""
    before, after = level("no speculation", 1), level("steps=3", 1)
    assert round((before.tpot_s or 0) * 1000, 2) == 4.79
    step = (after.tpot_s or 0) * (after.accept_len or 0) * 1000
    assert 8.2 < step < 8.8


def test_every_metric_keeps_its_own_name_and_formula(campaign: Campaign) -> None:
    metric = level("steps=3", 64).summary["metrics"]["itl_p50"]
    assert metric["native_name"] == "median_itl_ms"
    assert metric["formula"]
    assert metric["value"] == pytest.approx(0.008236716)


def test_all_texts_are_kept_once(campaign: Campaign) -> None:
    kept = {s.path: s for s in LogStream.objects.filter(text_of=None)}
    files = [path for path in FOLDER.iterdir() if path.name not in ("campaign.json", "notes.md")]
    assert set(kept) == {path.name for path in files}
    for path in files:
        assert kept[path.name].text() == path.read_bytes()
