"""GPU samples of whole runs, and what may go wrong with them without a run being lost."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runs.actions.store_gpu import read_gpu_again
from runs.gpupage import gpu_told
from runs.models import GpuSample, LogStream, Run, State
from tests.faults.conftest import Scene, conduct, nothing_is_left

pytestmark = pytest.mark.django_db(transaction=True)


def samples_of(run: Run) -> LogStream:
    return LogStream.objects.get(attempt__run=run, role="gpu")


@pytest.fixture(autouse=True)
def often(settings: Any, quick: None) -> None:
    settings.DURATIONS = replace(settings.DURATIONS, gpu_sample=0.1, gpu_processes=0.3)


def test_a_hot_run_is_sampled_whole_and_says_so(scene: Scene) -> None:
    env = {"SIM_FAULT": "throttle:0:600", "CUDA_VISIBLE_DEVICES": "2"}
    run = conduct(scene.run(env=env, requests_per_level=8, max_tokens=32))
    assert run.state == State.SUCCEEDED, run.reason_text
    stream = samples_of(run)
    assert stream.complete
    rows = GpuSample.objects.filter(stream=stream)
    assert set(rows.values_list("gpu", flat=True)) == {2}
    assert list(rows.values_list("seq", flat=True)) == list(range(1, rows.count() + 1))
    assert not rows.filter(strangers__gt=0).exists()  # the scheduler is the run's own
    assert rows.filter(strangers=0).exists()
    caveat = run.caveats.get(slug="thermal-throttle")
    assert "slowed for heat, up to 88 °C" in caveat.text
    told = gpu_told(run, run.attempts.get())
    assert told is not None
    assert told.words.startswith("NVIDIA H100 80GB HBM3 (simulated), driver ")
    count = rows.count()
    assert read_gpu_again(stream) == count
    nothing_is_left(run, scene.port)


@pytest.fixture
def holder(scene: Scene) -> Iterator[int]:
    """A process that holds 40 GiB of GPU 0, as the node's nvidia-smi tells."""
    with subprocess.Popen(["sleep", "300"]) as process:
        folder = scene.home / ".gpus"
        folder.mkdir(exist_ok=True)
        told = folder / "gpu-1.json"
        figures = {
            "server": process.pid, "pid": process.pid, "gpus": [0], "sm_mhz": 1980,
            "power_w": 300.0, "temperature_c": 60, "utilization": 99, "memory_mib": 40960,
            "mask": 0,
        }  # fmt: skip
        told.write_text(json.dumps(figures))
        yield process.pid
        process.kill()
        told.unlink(missing_ok=True)


def test_a_gpu_that_is_held_ends_the_run_before_anything_is_started(
    scene: Scene, holder: int
) -> None:
    run = conduct(scene.run())
    assert (run.state, run.reason) == (State.FAILED, "gpu-taken")
    assert f"sglang::scheduler (pid {holder}, user " in run.reason_text
    assert "with 40.0 GiB on GPU 0" in run.reason_text
    assert "left by an earlier server" in run.reason_text
    assert run.attempts.get().server == {}


def test_other_gpus_of_the_host_may_be_held(scene: Scene, holder: int) -> None:
    run = conduct(scene.run(env={"CUDA_VISIBLE_DEVICES": "1"}))
    assert run.state == State.SUCCEEDED, run.reason_text


def test_a_campaign_may_share_and_is_told_of_whom_it_shared_with(scene: Scene, holder: int) -> None:
    run = scene.run()
    run.campaign.share_gpus = True
    run.campaign.save()
    run = conduct(run)
    assert run.state == State.SUCCEEDED, run.reason_text
    assert "on GPU 0 while level" in run.caveats.get(slug="foreign-load").text
    assert f"pid {holder}" in run.events.get(kind="gpu-strangers").text


def test_a_node_without_nvidia_smi_is_measured_and_says_why_it_has_no_samples(
    scene: Scene,
) -> None:
    program: Path = scene.home / "bin" / "nvidia-smi"
    text = program.read_text()
    program.unlink()
    try:
        run = conduct(scene.run())
    finally:
        program.write_text(text)
        program.chmod(0o755)
    assert run.state == State.SUCCEEDED, run.reason_text
    told = gpu_told(run, run.attempts.get())
    assert told is not None
    assert told.words == "No GPU telemetry: nvidia-smi is not installed."
    assert not GpuSample.objects.exists()
