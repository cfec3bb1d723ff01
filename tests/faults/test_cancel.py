"""Stopping a run in every state it can be in."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from hosts.models import HostLease
from hosts.node import Node
from people.models import Person
from runs.actions.cancel import cancel_run
from runs.execution import verbs
from runs.execution.conductor import Conductor
from runs.models import Operation, Reason, Run, State
from tests.faults.conftest import Scene, all_is_right, conduct, fresh, nothing_is_left, until_state

ENDLESS = {"levels": [4], "requests_per_level": 2000, "max_tokens": 64}
SHORT = {"levels": [1], "requests_per_level": 2, "max_tokens": 8}
NEVER_READY = {"env": {"SIM_FAULT": "never-ready"}}
# which verb is slow, so that the state lasts for long enough to be met
TABLE: list[tuple[State, str | None, dict[str, Any]]] = [
    (State.PREPARING, Operation.Kind.PREPARE, SHORT),
    (State.STARTING, Operation.Kind.START_SERVER, SHORT),
    (State.WAITING_READY, None, NEVER_READY),
    (State.MEASURING, Operation.Kind.START_LOAD, ENDLESS),
    (State.MEASURING, None, ENDLESS),
    (State.COLLECTING, Operation.Kind.STOP, SHORT),
]


def test_f57_a_queued_run_is_cancelled_at_once_and_nobody_goes_to_its_node(scene: Scene) -> None:
    by = Person.objects.create(username="owner")
    begun = time.monotonic()
    run = cancel_run(run=scene.run(), by=by)
    assert (run.state, run.reason) == (State.CANCELLED, Reason.BY_PERSON)
    assert time.monotonic() - begun < 1.0
    assert not run.attempts.exists()


@pytest.mark.parametrize(
    ("state", "slow", "load"), TABLE, ids=[f"{s}-{v or 'idle'}" for s, v, _ in TABLE]
)
def test_f58_a_run_is_stopped_in_every_later_state(
    scene: Scene,
    monkeypatch: pytest.MonkeyPatch,
    state: State,
    slow: str | None,
    load: dict[str, Any],
) -> None:
    if slow is not None:
        real = verbs.VERBS[slow]

        async def slowly(node: Node, request: dict[str, Any]) -> dict[str, Any]:
            await asyncio.sleep(1.0)
            return await real(node, request)

        monkeypatch.setitem(verbs.VERBS, slow, slowly)
    by = Person.objects.create(username="owner")
    asked = 0.0

    async def cancel(_: Conductor, run: Run) -> None:
        nonlocal asked
        await until_state(run, state)
        if slow is not None:
            operations = Operation.objects.filter(attempt__run=run, kind=slow)
            while not await operations.filter(state="sent").aexists():
                await asyncio.sleep(0.02)
        await sync_to_async(cancel_run)(run=await fresh(run), by=by)
        asked = time.monotonic()

    run = conduct(scene.run(**load), cancel)
    assert (run.state, run.reason) == (State.CANCELLED, Reason.BY_PERSON), run.reason_text
    assert time.monotonic() - asked < 15.0
    nothing_is_left(run, scene.port)
    all_is_right(scene)


def test_f58_a_run_that_waits_for_its_host_is_stopped_without_it(scene: Scene) -> None:
    HostLease.grant(scene.host, holder="somebody", holder_name="Somebody's run")
    queued = scene.run(**SHORT)
    by = Person.objects.create(username="owner")
    Run.objects.filter(pk=queued.pk).update(state=State.ACQUIRING)

    async def cancel(_: Conductor, run: Run) -> None:
        await asyncio.sleep(0.5)
        assert (await fresh(run)).state == State.ACQUIRING
        await sync_to_async(cancel_run)(run=await fresh(run), by=by)

    run = conduct(queued, cancel)
    assert (run.state, run.reason) == (State.CANCELLED, Reason.BY_PERSON)
    assert HostLease.objects.filter(holder="somebody").exists()
