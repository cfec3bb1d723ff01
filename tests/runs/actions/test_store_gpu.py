"""Samples of GPUs, stored exactly once, judged by level, and read again from their text."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from runs.actions.conclude import judge_attempt
from runs.actions.levelfacts import level_facts, tokens_told
from runs.actions.store_gpu import read_gpu_again, store_gpu_records
from runs.drivers.gpu_records import GpuReader, slowed_words
from runs.execution import gpus
from runs.execution.endings import Failed
from runs.execution.recorder import Overtaken, Recorder
from runs.gpupage import gpu_after, gpu_told
from runs.models import Event, GpuSample, LogStream, Run, Sample
from tests.runs.execution.conftest import make_runs
from tests.runs.execution.test_ledger import acquire

CARD = {"index": 0, "uuid": "GPU-a", "name": "NVIDIA H100", "memory_mib": 81559, "mig": False}


def hello(**changed: Any) -> dict[str, Any]:
    told = {"type": "hello", "t": 99.0, "v": 1, "driver": "570.86", "every_s": 1.0, "gpus": [CARD]}
    return told | changed


def row(second: float, gpu: int = 0, **changed: Any) -> dict[str, Any]:
    return {
        "type": "gpu", "t": 100.0 + second, "mono": second, "gpu": gpu, "sm_mhz": 1980,
        "memory_mhz": 2619, "power_w": 612.5, "power_limit_w": 700.0, "temperature_c": 64,
        "utilization": 98, "memory_mib": 70000, "slowed": [], "ecc": 0, "strangers": 0,
        "strangers_mib": 0,
    } | changed  # fmt: skip


def stranger(**changed: Any) -> dict[str, Any]:
    return {
        "gpu": 0, "pid": 4242, "name": "train, big", "user": "bob", "memory_bytes": 20 * 2**30,
        "job": None, "ours": False,
    } | changed  # fmt: skip


def text(*lines: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.fixture
def run(db: None) -> Run:
    run = make_runs()[0]
    acquire(run)
    return run


@pytest.fixture
def stream(run: Run) -> LogStream:
    return LogStream.objects.select_related("attempt__run").get(role="gpu")


def recorder(stream: LogStream) -> Recorder:
    fresh = LogStream.objects.select_related("attempt__run").get(pk=stream.pk)
    return Recorder(fresh, GpuReader, store_gpu_records)


def store(stream: LogStream, *lines: dict[str, Any]) -> None:
    writer = recorder(stream)
    writer.feed(text(*lines))
    writer.flush(final=True)


def test_a_row_is_stored_wide_in_base_units(stream: LogStream) -> None:
    store(stream, hello(), row(0, slowed=["power cap", "software thermal"]))
    sample = GpuSample.objects.get()
    assert (sample.seq, sample.time, sample.gpu, sample.sm_mhz) == (1, 100.0, 0, 1980)
    assert sample.utilization == pytest.approx(0.98)
    assert sample.memory_bytes == 70000 * 2**20
    assert slowed_words(sample.slowed) == ["power cap", "software thermal"]
    assert text(hello())[: sample.offset] == text(hello())


def test_what_is_null_stays_null(stream: LogStream) -> None:
    vague = dict.fromkeys(["sm_mhz", "power_w", "utilization", "slowed", "strangers"])
    store(stream, row(0, **vague))
    sample = GpuSample.objects.get()
    told = [getattr(sample, name) for name in vague]
    assert told == [None] * len(vague)


def test_two_recorders_of_the_same_bytes_store_them_once(stream: LogStream) -> None:
    first, second = recorder(stream), recorder(stream)
    for writer in (first, second):
        writer.feed(text(row(0), row(1)))
    first.flush()
    with pytest.raises(Overtaken):
        second.flush()
    assert list(GpuSample.objects.values_list("seq", flat=True)) == [1, 2]


def test_any_split_gives_the_same_rows(stream: LogStream) -> None:
    data = text(hello(), row(0), row(1), row(2))
    writer = recorder(stream)
    for at in range(0, len(data), 97):
        writer.feed(data[at : at + 97])
        writer.flush()
    writer.flush(final=True)
    assert list(GpuSample.objects.values_list("seq", "time")) == [(1, 100), (2, 101), (3, 102)]


def test_a_line_that_is_none_is_counted_and_costs_no_other(stream: LogStream) -> None:
    writer = recorder(stream)
    writer.feed(text(row(0)) + b'{"type": "gpu", "t": 1}\nnot json\n' + text(row(1)) + b'{"typ')
    writer.flush(final=True)
    stream.refresh_from_db()
    assert (GpuSample.objects.count(), stream.damaged) == (2, 3)


def test_they_are_read_again_from_their_text(stream: LogStream) -> None:
    foreign = {"type": "processes", "t": 100.5, "processes": [stranger()]}
    store(stream, hello(), *[row(i) for i in range(50)], foreign)
    before = list(GpuSample.objects.values_list("seq", "time", "offset"))
    GpuSample.objects.filter(seq__gt=10).delete()
    stream.refresh_from_db()
    assert read_gpu_again(stream) == 50
    assert list(GpuSample.objects.values_list("seq", "time", "offset")) == before
    assert sorted(Event.objects.filter(stream=stream).values_list("kind", flat=True)) == [
        "gpu-strangers", "gpu-telemetry",
    ]  # fmt: skip


def test_the_command_reads_them_again_and_refuses_a_run_without(stream: LogStream) -> None:
    store(stream, hello(), *[row(i) for i in range(7)])
    GpuSample.objects.all().delete()
    run = stream.attempt.run
    said = StringIO()
    call_command("read_again", gpus=[run.pk], stdout=said)
    assert f"{run} attempt 1: 7 GPU samples read again" in said.getvalue()
    assert GpuSample.objects.count() == 7
    with pytest.raises(CommandError, match="has no GPU samples"):
        call_command("read_again", gpus=[run.pk + 1000])


def test_strangers_come_and_go_as_events_that_name_them(stream: LogStream) -> None:
    ours = stranger(ours=True)
    lists = [[ours], [ours, stranger()], [ours], [ours]]
    store(
        stream, *[{"type": "processes", "t": 1.0 + i, "processes": p} for i, p in enumerate(lists)]
    )
    told = list(Event.objects.filter(kind="gpu-strangers").values_list("text", flat=True))
    assert told == [
        "Not of this run: train, big (pid 4242, user bob) with 20.0 GiB on GPU 0.",
        "Those who were not of this run have left the GPUs.",
    ]


def test_the_page_says_what_is_sampled_or_why_nothing_is(run: Run, stream: LogStream) -> None:
    attempt = run.attempts.get()
    waiting = gpu_told(run, attempt)
    assert waiting is not None
    assert (waiting.words, waiting.sampled) == ("", True)
    store(stream, hello(gpus=[CARD, {**CARD, "index": 1}]))
    told = gpu_told(run, attempt)
    assert told is not None
    assert told.words == "2 × NVIDIA H100, driver 570.86, a sample every 1 s"


def test_without_nvidia_smi_the_page_says_so_plainly(run: Run, stream: LogStream) -> None:
    store(stream, {"type": "none", "t": 1.0, "why": "nvidia-smi is not installed"})
    told = gpu_told(run, run.attempts.get())
    assert told is not None
    assert (told.words, told.sampled) == ("No GPU telemetry: nvidia-smi is not installed.", False)


def test_a_watcher_reads_behind_its_number(stream: LogStream) -> None:
    store(stream, *[row(i, slowed=["idle"]) for i in range(5)])
    first = gpu_after(stream, 0, 3)
    assert (first["seq"], first["more"]) == ([1, 2, 3], True)
    assert first["cols"]["slowed"] == ["", "", ""]  # idle is no reason to be told
    assert gpu_after(stream, 3, 3)["seq"] == [4, 5]
    assert gpu_after(None, 0, 3)["n"] == 0


def test_a_level_is_judged_against_the_highest_clock_of_its_arm(
    run: Run, stream: LogStream
) -> None:
    attempt = run.attempts.get()
    idle = row(3, sm_mhz=2600, utilization=0, slowed=["idle"])
    hot = [
        row(10 + i, sm_mhz=1410, slowed=["software thermal"], temperature_c=88) for i in range(9)
    ]
    store(stream, *[row(i) for i in range(3)], idle, *hot)
    attempt.levels.filter(index=0).update(state="done", started=100.0, ended=103.5)
    attempt.levels.filter(index=1).update(state="done", started=109.0, ended=120.0)
    cool, warm = level_facts(attempt, list(attempt.levels.all()), [])
    assert (cool.gpus[0].samples, cool.gpus[0].thermal) == (3, 0)
    assert (warm.gpus[0].fastest_mhz, warm.gpus[0].clock_mhz) == (1980, 1410)
    judge_attempt(attempt=attempt)
    caveat = run.caveats.get(slug="thermal-throttle")
    assert "9 of 9 samples slowed for heat, up to 88 °C" in caveat.text
    judge_attempt(attempt=attempt)
    assert run.caveats.filter(slug="thermal-throttle").count() == 1


def test_tokens_of_lines_are_those_between_them() -> None:
    lines = [
        Sample(time=t, output_tps=tps, rank="")
        for t, tps in ((0.0, 7.0), (1.0, 100.0), (4.0, 40.0))
    ]
    assert tokens_told(lines) == (pytest.approx(55.0), 4.0)
    assert tokens_told([*lines, Sample(time=5.0, output_tps=1.0, rank="DP1")]) == (None, None)


def taken(**process: Any) -> dict[str, Any]:
    return {"gpus": [], "processes": [stranger(**process)], "note": None}


def test_a_gpu_that_somebody_holds_ends_the_run_before_its_start(run: Run) -> None:
    with pytest.raises(Failed) as ended:
        gpus.refuse_taken(run, taken())
    assert ended.value.reason == "gpu-taken"
    assert "train, big (pid 4242, user bob) with 20.0 GiB on GPU 0" in ended.value.text
    run.campaign.share_gpus = True
    run.campaign.save()
    gpus.refuse_taken(run, taken())


@pytest.mark.parametrize(
    "left",
    [
        {"name": "sglang::scheduler_TP0", "memory_bytes": None},
        {"name": "VLLM::EngineCore", "memory_bytes": 0},
        {"job": "/home/x/.local/state/throughline/runs/7/1/server", "memory_bytes": 5},
    ],
)
def test_a_scheduler_that_an_earlier_server_left_is_named(run: Run, left: dict[str, Any]) -> None:
    with pytest.raises(Failed, match="left by an earlier server"):
        gpus.refuse_taken(run, taken(**left))


@pytest.mark.parametrize("little", [300 * 2**20, None])
def test_a_little_memory_keeps_nobody_from_starting(run: Run, little: int | None) -> None:
    gpus.refuse_taken(run, taken(name="Xorg", memory_bytes=little))
    gpus.refuse_taken(run, {"gpus": [], "processes": [], "note": "nvidia-smi is not installed"})
    gpus.refuse_taken(run, None)


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, None),
        ({"CUDA_VISIBLE_DEVICES": "4,5"}, ["4", "5"]),
        ({"CUDA_VISIBLE_DEVICES": " GPU-8b1e , 2"}, ["GPU-8b1e", "2"]),
        ({"NVIDIA_VISIBLE_DEVICES": "all"}, None),
        ({"CUDA_VISIBLE_DEVICES": ""}, None),
    ],
)
def test_the_gpus_of_a_run_are_those_its_server_may_see(
    run: Run, env: dict[str, str], expected: list[str] | None
) -> None:
    run.arm.config.env = env
    assert gpus.of_config(run.arm.config) == expected
