"""A new version deployed while runs go on: what an older node kit began, the newer one finishes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from hosts import kit
from hosts.kit import Kit
from hosts.node import KIT_DIR
from hosts.nodekit.machine import SIMULATED
from hosts.pool import POOL
from people.models import Person
from runs.actions.cancel import cancel_run
from runs.execution.conductor import Conductor
from runs.models import Event, Operation, Run, State
from tests.faults.conftest import Scene, all_is_right, conduct, fresh, lives, nothing_is_left
from tests.repository.places import ROOT

OLDER = sorted((ROOT / "tests/cases/kits").glob("kit-*.pyz"))
LOAD = {"levels": [2], "requests_per_level": 16, "max_tokens": 24, "env": {"SIM_STARTUP_S": "1.5"}}


assert OLDER, "the kits of earlier versions belong to the repository"


@pytest.fixture(params=OLDER, ids=lambda path: path.stem)
def older(request: Any) -> Kit:
    data = request.param.read_bytes()
    sha256 = hashlib.sha256(data).hexdigest()
    assert request.param.name == f"kit-{sha256[:16]}.pyz"
    assert sha256 != kit.build().sha256
    return Kit(data=data, sha256=sha256, name=request.param.name)


@pytest.fixture(autouse=True)
def as_a_real_node(scene: Scene) -> Iterator[None]:
    """One whose ids are the kernel's alone: how a simulated one is told apart has changed."""
    path = scene.home / ".local/state/throughline" / SIMULATED
    told = path.read_bytes()
    path.unlink()
    yield
    path.write_bytes(told)


def conduct_with(older: Kit, run: Run, until: State, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the earlier version until the run is so far; then it is told to end, as by a deploy."""

    async def story() -> None:
        over, deadline = False, time.monotonic() + 40
        conducting = asyncio.create_task(Conductor("earlier").conduct(lambda: not over))
        try:
            while not await arrived(run, until):
                assert time.monotonic() < deadline, f"never {until}: {(await fresh(run)).state}"
                await asyncio.sleep(0.03)
        finally:
            over = True
            with suppress(asyncio.CancelledError):
                await conducting
            await sync_to_async(connections.close_all)()

    with monkeypatch.context() as patch:
        patch.setattr("hosts.node.build", lambda: older)
        asyncio.run(story())
        POOL.close()


async def arrived(run: Run, state: State) -> bool:
    """So far, and the job that belongs to it has begun."""
    kind = Operation.Kind.START_LOAD if state == State.MEASURING else Operation.Kind.START_SERVER
    done = Operation.objects.filter(attempt__run=run, kind=kind, state=Operation.State.DONE)
    return (await fresh(run)).state == state and await done.aexists()


def folder_of(scene: Scene, run: Run) -> Path:
    return scene.home / ".local/state/throughline/runs" / str(run.uid) / "1"


def supervisors_kit(job: Path) -> str:
    """Whose code watches the job, by the command line of its supervisor."""
    pid = json.loads((job / "started.json").read_bytes())["supervisor_pid"]
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return next(Path(word.decode()).name for word in words if word.endswith(b".pyz"))


@pytest.mark.parametrize("state", [State.WAITING_READY, State.MEASURING])
def test_f75_what_an_older_kit_began_the_newer_one_finishes(
    scene: Scene, older: Kit, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = scene.run(**LOAD)
    conduct_with(older, run, state, monkeypatch)
    job = folder_of(scene, run)
    assert supervisors_kit(job / "server") == older.name
    assert (job / "load/started.json").exists() == (state == State.MEASURING)

    ended = conduct(run, name="later")
    assert ended.state == State.SUCCEEDED, ended.reason_text
    assert ended.claim_epoch == 2
    if state == State.WAITING_READY:
        started = json.loads((job / "load/started.json").read_bytes())
        assert started["kit"] == kit.build().name
    both = {path.name for path in (scene.home / KIT_DIR).iterdir()}
    assert {older.name, kit.build().name} <= both  # its jobs go on with the archive they know
    actors = Event.objects.filter(run=run, kind="state").order_by("pk")
    assert actors.first().actor == "earlier"  # type: ignore[union-attr]
    assert actors.last().actor == "later"  # type: ignore[union-attr]
    nothing_is_left(ended, scene.port)
    all_is_right(scene)


def test_f75_what_an_older_kit_began_is_stopped_by_the_newer_one(
    scene: Scene, older: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = scene.run(**LOAD | {"requests_per_level": 2000})
    conduct_with(older, run, State.MEASURING, monkeypatch)
    record = json.loads((folder_of(scene, run) / "load/started.json").read_bytes())
    assert lives(record["pid"])
    cancel_run(run=Run.objects.get(pk=run.pk), by=Person.objects.create(username="op"))
    ended = conduct(run, name="later")
    assert ended.state == State.CANCELLED, ended.reason_text
    assert not lives(record["pid"])
    assert not lives(record["supervisor_pid"])
    nothing_is_left(ended, scene.port)
    all_is_right(scene)
