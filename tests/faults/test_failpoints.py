"""Conductor and worker die at each of their failpoints; the run ends right all the same."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hosts.nodekit import failpoints
from runs.execution.verbs import VERBS
from runs.models import Operation, Run, State
from runs.models.states import ACTIVE
from tests.faults.conftest import Scene, all_is_right, conduct, nothing_is_left
from tests.faults.stack import (
    RECOVERY_S,
    ROOT,
    Stack,
    Started,
    done_of,
    state_of,
    told_of,
)

SHORT = {"levels": [2], "requests_per_level": 6, "max_tokens": 16}
STAGES = {"planned", "heard", "taken", "sent", "carried-out", "settled"}
BY_THE_WORKER = {"taken", "sent", "carried-out", "settled"}
KINDS = [kind.value for kind in Operation.Kind]
PHASE = {
    "prepare": State.PREPARING,
    "start-server": State.STARTING,
    "start-gpu": State.STARTING,
    "check-ready": State.WAITING_READY,
    "start-load": State.MEASURING,
    "stop": State.COLLECTING,
    "collect": State.COLLECTING,
}


def called(path: Path) -> Iterator[str]:
    """Names of the failpoints of a file; those of a kind of operation once for each kind."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "failpoint"):
            continue
        (told,) = node.args
        if isinstance(told, ast.Constant):
            yield str(told.value)
            continue
        assert isinstance(told, ast.JoinedStr), "a failpoint's name is a text"
        kind, stage = told.values
        assert isinstance(kind, ast.FormattedValue)
        assert ast.unparse(kind.value) in ("kind", "operation.kind"), ast.unparse(told)
        assert isinstance(stage, ast.Constant)
        yield from (f"{each}{stage.value}" for each in KINDS)


# those of the pages are tried in test_web.py
FILES = [path for path in (ROOT / "runs").rglob("*.py") if "views" not in path.parts]
NAMES = sorted({name for path in FILES for name in called(path)})
FAST = {"start-load.carried-out", "record.committed"}


def params(does: str) -> list[object]:
    slow = [pytest.mark.faults, pytest.mark.slow]
    return [pytest.param(n, marks=[] if n in FAST else slow, id=f"{n}-{does}") for n in NAMES]


def test_every_kind_of_operation_has_failpoints() -> None:
    assert set(VERBS) == set(KINDS)
    for kind in KINDS:
        assert {name for name in NAMES if name.startswith(f"{kind}.")} == {
            f"{kind}.{stage}" for stage in STAGES
        }
    assert set(PHASE) == set(KINDS)
    assert set(PHASE.values()) == set(ACTIVE) - {State.ACQUIRING}
    steps = {name for name in NAMES if name.partition(".")[0] not in KINDS}
    assert {"record", "story", "acquire", "end"} <= {name.partition(".")[0] for name in steps}


@pytest.mark.parametrize("name", params("raise"))
def test_a_fault_of_ours_ends_no_run_wrong(
    scene: Scene,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    name: str,
) -> None:
    settings.DURATIONS = replace(settings.DURATIONS, claim=4.0, heartbeat=0.8)
    monkeypatch.setattr(failpoints, "_armed", failpoints.parse(f"{name}=raise"))
    run = conduct(scene.run(**SHORT))
    assert f"failpoint {name} fires" in capfd.readouterr().err
    assert run.is_final
    assert run.state in (State.SUCCEEDED, State.FAILED), run.reason_text
    nothing_is_left(run, scene.port)
    all_is_right(scene)


@pytest.mark.parametrize("name", params("sigkill"))
def test_a_killed_process_costs_a_run_nothing_but_time(
    scene: Scene, stack: Stack, name: str
) -> None:
    run = scene.run(**SHORT)
    armed = f"{name}=sigkill"
    worker_dies = name.rpartition(".")[2] in BY_THE_WORKER
    victim = stack.worker(armed) if worker_dies else stack.conductor(armed)
    other = stack.conductor() if worker_dies else stack.worker()
    stack.until(f"dead at {name}", lambda: f"failpoint {name} fires" in victim.said())
    victim.kill()  # the whole of a worker, not one process of its pool
    killed, moved = time.monotonic(), done_of if worker_dies else told_of
    before, phase = moved(run), state_of(run)
    kind, _, stage = name.rpartition(".")
    assert stage == "settled" or phase == PHASE.get(kind, phase)
    again: Started = stack.worker(name="w2") if worker_dies else stack.conductor()
    stack.until(f"gone on after {name}", lambda: moved(run) != before)
    took = stack.full(time.monotonic() - killed)
    who = "worker" if worker_dies else "conductor"
    print(f"{who} killed at {name}, {phase}: the run went on after {took:.0f} s")
    assert took < RECOVERY_S
    ended = stack.until_final(run)
    assert ended.state == State.SUCCEEDED, ended.reason_text + stack.words()
    assert Run.objects.count() == 1
    for process in (other, again):
        process.end()
    nothing_is_left(ended, scene.port)
    all_is_right(scene)
