"""Loads that are killed, or end well and tell nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from runs.execution.conductor import Conductor
from runs.models import Level, Reason, Run, State
from tests.faults.conftest import Scene, conduct, lives, nothing_is_left, until_state

LONG = {"levels": [2], "requests_per_level": 400, "max_tokens": 48}
OWN = {"driver": "command", "prompt_set": "script", "temperature": None, "levels": [1]}
ENDS_WELL = """
import sys
print("all requests done")
if {told!r}:
    open(sys.argv[1], "w").write({told!r})
"""
NO_RESULT = "The tool ended with exit status 0 and told no result"
SLEEPS = "import sys, time\nprint('begun', flush=True)\ntime.sleep(300)\n"


def load_of(scene: Scene, run: Run) -> int:
    """The process that the load's supervisor has started."""
    runs = scene.home / ".local/state/throughline/runs"
    return int(json.loads((runs / str(run.uid) / "1/load/started.json").read_bytes())["pid"])


def child_of(pid: int) -> int | None:
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(told[0]) if told else None


async def until_measured(run: Run) -> None:
    await until_state(run, State.MEASURING)
    while not await Level.objects.filter(attempt__run=run, state="running").aexists():
        await asyncio.sleep(0.05)


def test_f37_a_load_that_is_killed_ends_the_run_with_its_signal(scene: Scene) -> None:
    async def kill(_: Conductor, run: Run) -> None:
        await until_measured(run)
        os.kill(load_of(scene, run), signal.SIGKILL)

    run = conduct(scene.run(**LONG), kill)
    assert (run.state, run.reason) == (State.FAILED, Reason.LOAD_FAILED)
    assert run.reason_text == "The load driver ended with signal 9 before its last level was done."
    assert run.attempts.get().load_exit["signal"] == 9
    assert {level.state for level in Level.objects.all()} == {Level.State.CUT}
    nothing_is_left(run, scene.port)


def test_f37_a_tool_that_is_killed_under_its_level_is_told_with_its_signal(scene: Scene) -> None:
    (scene.home / "sleeps.py").write_text(SLEEPS)

    async def kill(_: Conductor, run: Run) -> None:
        await until_measured(run)
        while (tool := child_of(load_of(scene, run))) is None:
            await asyncio.sleep(0.05)
        os.kill(tool, signal.SIGKILL)

    command = f"python3 {scene.home}/sleeps.py"
    run = conduct(scene.run(**OWN, driver_settings={"command": command}), kill)
    assert (run.state, run.reason) == (State.FAILED, Reason.LOAD_FAILED)
    assert (
        "At concurrency 1: The tool was killed by signal 9 and told no result: begun"
        in run.reason_text
    )
    nothing_is_left(run, scene.port)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("", f"{NO_RESULT}: all requests done"),
        ('{"throughline": 1, "requests"', f"{NO_RESULT}: all requests done"),
        (
            json.dumps({"throughline": 1, "requests": "many"}),
            "The command's last line cannot be read",
        ),
    ],
    ids=["nothing", "no JSON", "a wrong value"],
)
def test_f40_a_tool_that_ends_with_0_and_no_result_fails_the_run(
    scene: Scene, told: str, words: str
) -> None:
    (scene.home / "ends_well.py").write_text(ENDS_WELL.format(told=told))
    command = f"python3 {scene.home}/ends_well.py {{result}}"
    run = conduct(scene.run(**OWN, driver_settings={"command": command}))
    assert (run.state, run.reason) == (State.FAILED, Reason.LOAD_FAILED)
    assert f"At concurrency 1: {words}" in run.reason_text
    level = Level.objects.get()
    assert level.summary["exit"]["code"] == 0
    assert level.output_tps is None
    assert not lives(load_of(scene, run))
    nothing_is_left(run, scene.port)
