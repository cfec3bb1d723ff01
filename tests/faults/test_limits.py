"""Limits that the node keeps by itself, and how the run tells of them."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hosts.node import Node
from runs.execution import verbs
from runs.execution.conductor import Conductor
from runs.models import Campaign, Event, Operation, Reason, Run, State
from tests.faults.conftest import Scene, conduct, nothing_is_left, until_state

LONG = {"levels": [4], "requests_per_level": 400, "max_tokens": 64}
SLEEPS = {"driver": "command", "prompt_set": "script", "temperature": None, "levels": [1]}


def limited(run: Run, **limits: float) -> Run:
    Campaign.objects.filter(pk=run.campaign_id).update(limits=limits)
    return run


def sleeping_load(scene: Scene) -> dict[str, Any]:
    """A load that says nothing after it has begun."""
    (scene.home / "sleeps.py").write_text("import time; time.sleep(60)\n")
    command = f"python3 {scene.home}/sleeps.py {{base_url}} {{result}}"
    return {**SLEEPS, "driver_settings": {"command": command}}


def test_f39_a_load_that_hangs_is_ended_by_the_node_at_its_stall_limit(scene: Scene) -> None:
    run = conduct(limited(scene.run(**sleeping_load(scene)), stall_s=2.0))
    assert (run.state, run.reason) == (State.TIMED_OUT, Reason.STALLED)
    assert "The node ended the load at 20" in run.reason_text
    assert "(the node's clock)" in run.reason_text
    nothing_is_left(run, scene.port)


def test_f39_a_load_without_output_is_remarked_on_once(scene: Scene, settings: Any) -> None:
    settings.DURATIONS = replace(settings.DURATIONS, stall_warning=0.8)
    run = conduct(limited(scene.run(**sleeping_load(scene)), stall_s=4.0))
    stalled = Event.objects.get(run=run, kind="stalled")
    assert "The load has printed nothing" in stalled.text


def test_a_load_beyond_its_time_is_timed_out_and_not_called_dead(scene: Scene) -> None:
    run = conduct(limited(scene.run(**LONG), wall_s=2.0))
    assert (run.state, run.reason) == (State.TIMED_OUT, Reason.TIME_LIMIT)
    assert "The node ended the load at" in run.reason_text
    nothing_is_left(run, scene.port)


def test_f86_a_limit_that_passes_with_nobody_there_is_told_with_the_nodes_time(
    scene: Scene,
) -> None:
    queued = limited(scene.run(**LONG), wall_s=2.0, ready_s=30.0)
    measuring = asyncio.run(_until_measuring(queued))
    assert measuring.state == State.MEASURING
    record = _exit_of(scene, queued, "load")
    deadline = time.monotonic() + 20
    while not record.exists():  # no conductor, no worker: the node alone
        assert time.monotonic() < deadline
        time.sleep(0.05)
    ended = time.time()
    time.sleep(1.2)
    run = conduct(queued, name="another")
    assert (run.state, run.reason) == (State.TIMED_OUT, Reason.TIME_LIMIT)
    told = time.strftime("%Y-%m-%d %H:%M", time.gmtime(ended))
    assert told in run.reason_text
    nothing_is_left(run, scene.port)


async def _until_measuring(run: Run) -> Run:
    conductor = Conductor("first")
    measuring = False

    def go_on() -> bool:
        return not measuring

    conducting = asyncio.create_task(conductor.conduct(go_on))
    await until_state(run, State.MEASURING)
    while not await Operation.objects.filter(kind="start-load", state="done").aexists():
        await asyncio.sleep(0.05)
    measuring = True
    await conducting
    return await Run.objects.aget(pk=run.pk)


def _exit_of(scene: Scene, run: Run, role: str) -> Path:
    state = scene.home / ".local/state/throughline/runs"
    return state / str(run.uid) / "1" / role / "exit.json"


def test_a_run_nobody_asks_for_ends_by_its_dead_man_limit(scene: Scene) -> None:
    queued = limited(scene.run(**LONG), deadman_s=3.0)
    asyncio.run(_until_measuring(queued))
    deadline = time.monotonic() + 20
    while not _exit_of(scene, queued, "load").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    run = conduct(queued, name="another")
    assert (run.state, run.reason) == (State.TIMED_OUT, Reason.UNATTENDED)
    nothing_is_left(run, scene.port)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"disk_free_bytes": 900 << 20}, "900 MiB of disk left"),
        ({"files_free": 7}, "can take 7 more files"),
        ({"state_writable": False}, "mount it for writing"),
    ],
)
def test_f50_f52_a_node_without_room_is_refused_before_anything_is_started(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, told: dict[str, Any], words: str
) -> None:
    async def prepare(node: Node, request: dict[str, Any]) -> dict[str, Any]:
        found = await verbs.prepare(node, request)
        assert found["facts"]["state_writable"] is True
        assert found["facts"]["disk_free_bytes"] > 0
        return {**found, "facts": {**found["facts"], **told}}

    monkeypatch.setitem(verbs.VERBS, Operation.Kind.PREPARE, prepare)
    run = conduct(scene.run())
    assert (run.state, run.reason) == (State.FAILED, Reason.NODE_UNFIT)
    assert words in run.reason_text
    assert not Operation.objects.filter(kind=Operation.Kind.START_SERVER).exists()
