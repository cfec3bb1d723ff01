"""Nodes that stay away, come back late, or cannot be emptied."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from hosts import links
from hosts.models import HostLease
from hosts.node import Node
from hosts.pool import POOL
from hosts.transport.errors import Unreachable
from people.models import Person
from runs.actions.cancel import cancel_run
from runs.execution import verbs
from runs.execution.conductor import Conductor
from runs.models import Event, Operation, Reason, Run, State
from tests.faults.conftest import Scene, all_is_right, conduct, fresh, nothing_is_left, until_state

SHORT = {"levels": [2], "requests_per_level": 16, "max_tokens": 24}
ENDLESS = {"levels": [4], "requests_per_level": 2000, "max_tokens": 64}


@pytest.fixture
def away(settings: Any, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """While it is set, no link to any node can be made."""
    settings.DURATIONS = replace(
        settings.DURATIONS,
        unreachable=0.3, lost_after=1.5, late_look=0.3, claim=3.0, heartbeat=0.5,
    )  # fmt: skip
    gone = threading.Event()
    monkeypatch.setattr("hosts.links.connect", _unless(gone, links.connect))
    return gone


def _unless(away: threading.Event, real: Any) -> Any:
    def opened(*args: Any) -> Any:
        if away.is_set():
            raise Unreachable("no answer")
        return real(*args)

    return opened


async def cut(conductor: Conductor, away: threading.Event) -> None:
    away.set()
    for node in list(conductor.links._nodes.values()):
        await node.connection.close()
    await asyncio.to_thread(POOL.close)


def tell(run: Run, story: Callable[[Conductor], Awaitable[None]]) -> Run:
    """Conduct for as long as the story goes on, past any final state."""

    async def all_of_it() -> None:
        conductor = Conductor("conductor")
        over = False
        conducting = asyncio.create_task(conductor.conduct(lambda: not over))
        try:
            await asyncio.wait_for(story(conductor), 60)
        finally:
            over = True
            with suppress(asyncio.CancelledError):
                await conducting
            await sync_to_async(connections.close_all)()

    asyncio.run(all_of_it())
    return Run.objects.get(pk=run.pk)


async def until_lost(run: Run) -> None:
    await until_state(run, State.LOST)
    lost = await fresh(run)
    assert lost.reason == Reason.UNREACHABLE
    assert lost.link == Run.Link.UNREACHABLE
    lease = await HostLease.objects.aget(holder=str(run.uid))
    assert lease.host_id == run.host_id


async def until_corrected(run: Run) -> None:
    deadline = time.monotonic() + 40
    while (await fresh(run)).state == State.LOST:
        assert time.monotonic() < deadline, "never corrected"
        await asyncio.sleep(0.05)


def moves(run: Run) -> list[str]:
    told = Event.objects.filter(run=run, kind="state").values_list("data__to", flat=True)
    return list(told)


def test_f30_a_lost_run_that_had_ended_well_is_corrected_late(
    scene: Scene, away: threading.Event
) -> None:
    queued = scene.run(**SHORT)
    load = scene.home / ".local/state/throughline/runs" / str(queued.uid) / "1/load"

    async def story(conductor: Conductor) -> None:
        await until_state(queued, State.MEASURING)
        while not (load / "started.json").exists():
            await asyncio.sleep(0.02)
        await cut(conductor, away)
        await until_lost(queued)
        while not (load / "exit.json").exists():
            await asyncio.sleep(0.05)
        away.clear()
        await until_corrected(queued)

    run = tell(queued, story)
    assert (run.state, run.reason) == (State.SUCCEEDED, ""), run.reason_text
    assert moves(run)[-2:] == ["lost", "succeeded"]
    assert run.ended_at is not None
    assert abs(run.ended_at.timestamp() - (load / "exit.json").stat().st_mtime) < 2
    assert run.link == Run.Link.OK
    nothing_is_left(run, scene.port)
    all_is_right(scene)


def test_f30_a_lost_run_that_still_measures_is_stopped_and_its_host_freed(
    scene: Scene, away: threading.Event
) -> None:
    queued = scene.run(**ENDLESS)

    async def story(conductor: Conductor) -> None:
        await until_state(queued, State.MEASURING)
        await cut(conductor, away)
        await until_lost(queued)
        away.clear()
        await until_corrected(queued)

    run = tell(queued, story)
    assert (run.state, run.reason) == (State.FAILED, Reason.UNREACHABLE)
    assert run.reason_text.startswith("Late: The node came back")
    nothing_is_left(run, scene.port)
    all_is_right(scene)


def test_f59_a_cancel_while_the_node_is_away_is_carried_out_on_its_return(
    scene: Scene, away: threading.Event, settings: Any
) -> None:
    settings.DURATIONS = replace(settings.DURATIONS, lost_after=30.0)
    by = Person.objects.create(username="owner")

    async def meanwhile(conductor: Conductor, run: Run) -> None:
        await until_state(run, State.MEASURING)
        await cut(conductor, away)
        await sync_to_async(cancel_run)(run=await fresh(run), by=by)
        await asyncio.sleep(1.5)
        waiting = await fresh(run)
        assert not waiting.is_final
        assert waiting.link == Run.Link.UNREACHABLE
        assert waiting.cancel_requested_at is not None
        away.clear()

    run = conduct(scene.run(**ENDLESS), meanwhile)
    assert (run.state, run.reason) == (State.CANCELLED, Reason.BY_PERSON)
    nothing_is_left(run, scene.port)


def test_f59_a_cancel_that_the_lost_node_never_heard_is_told_late(
    scene: Scene, away: threading.Event
) -> None:
    queued = scene.run(**ENDLESS)
    by = Person.objects.create(username="owner")

    async def story(conductor: Conductor) -> None:
        await until_state(queued, State.MEASURING)
        await cut(conductor, away)
        await sync_to_async(cancel_run)(run=await fresh(queued), by=by)
        await until_lost(queued)
        away.clear()
        await until_corrected(queued)

    run = tell(queued, story)
    assert (run.state, run.reason) == (State.CANCELLED, Reason.BY_PERSON)
    assert run.reason_text == "Late: stopped by owner"
    nothing_is_left(run, scene.port)


def test_f60_a_process_that_survives_everything_leaves_the_host_in_quarantine(
    scene: Scene, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DURATIONS = replace(settings.DURATIONS, unkillable=1.0)
    real = verbs.stop

    async def stop(node: Node, request: dict[str, Any]) -> dict[str, Any]:
        told = await real(node, request)
        told["jobs"]["server"]["outcome"] = "still-running"  # as one does in the kernel's hands
        return told

    monkeypatch.setitem(verbs.VERBS, Operation.Kind.STOP, stop)
    by = Person.objects.create(username="owner")

    async def cancel(conductor: Conductor, run: Run) -> None:
        await until_state(run, State.MEASURING)
        await sync_to_async(cancel_run)(run=await fresh(run), by=by)

    run = conduct(scene.run(**ENDLESS), cancel)
    assert (run.state, run.reason) == (State.CANCELLED, Reason.BY_PERSON)
    assert run.reason_text == "(unconfirmed) stopped by owner"
    assert HostLease.objects.get(holder=str(run.uid)).in_quarantine
    assert Operation.objects.filter(attempt__run=run, kind=Operation.Kind.STOP).count() > 1
