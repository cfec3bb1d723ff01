"""How runs end: well, or with a reason, the last lines, a free host and nothing left behind."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import signal
import socket
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from hosts.models import HostKey, HostLease
from hosts.node import KitError, Node
from people.models import Person
from runs.actions.cancel import cancel_run
from runs.execution import verbs
from runs.execution.conductor import Conductor
from runs.models import Event, Level, LogStream, Operation, Reason, Run, Sample, State
from tests.faults.conftest import Scene, conduct, fresh, nothing_is_left, until_state

# long enough to be interrupted, short enough to wait for
LONG = {"levels": [4], "requests_per_level": 32, "max_tokens": 48}


def test_a_whole_run_is_measured_and_put_away(scene: Scene) -> None:
    run = conduct(scene.run())
    assert (run.state, run.reason_text) == (State.SUCCEEDED, "")
    nothing_is_left(run, scene.port)
    levels = Level.objects.order_by("index")
    assert [level.concurrency for level in levels] == [1, 2]
    assert all(level.output_tps and level.user_tps and level.failed == 0 for level in levels)
    attempt = run.attempts.get()
    assert attempt.readiness["pid"] == attempt.server["pid"]
    assert attempt.startup["max_running_requests"] > 0
    assert attempt.server_exit["reason"] == "stopped"
    stored_equals_node(scene, run)


def stored_equals_node(scene: Scene, run: Run) -> None:
    """Bytes, hash and decode lines as they stand on the node."""
    for stream in LogStream.objects.filter(attempt__run=run):
        state = scene.home / ".local/state/throughline"
        path = state / "runs" / str(run.uid) / str(stream.attempt.n) / stream.role / stream.path
        on_node = path.read_bytes()
        assert stream.complete
        assert stream.text() == on_node
        assert stream.sha256 == hashlib.sha256(on_node).hexdigest()
        if stream.role == LogStream.Role.SERVER:
            printed = re.findall(rb"Decode batch.*throughput \(token/s\): ([0-9.]+)", on_node)
            stored = Sample.objects.filter(stream=stream, phase="decode")
            assert [s.output_tps for s in stored] == [float(value) for value in printed]


def test_a_server_that_never_gets_ready_ends_with_its_last_lines(
    scene: Scene, settings: object
) -> None:
    from dataclasses import replace

    settings.DURATIONS = replace(settings.DURATIONS, ready_limit=2.0)  # type: ignore[attr-defined]
    run = conduct(scene.run(env={"SIM_FAULT": "never-ready"}))
    assert (run.state, run.reason) == (State.TIMED_OUT, Reason.NEVER_READY)
    assert "Last lines of the server log" in run.reason_text
    nothing_is_left(run, scene.port)


@pytest.mark.parametrize(
    ("fault", "words"),
    [("crash-at-start", "Traceback"), ("oom-at-capture", "capture of CUDA graphs")],
)
def test_a_server_that_dies_before_it_is_ready_says_why(
    scene: Scene, fault: str, words: str
) -> None:
    run = conduct(scene.run(env={"SIM_FAULT": fault}))
    assert (run.state, run.reason) == (State.FAILED, Reason.SERVER_DIED)
    assert words in run.reason_text
    nothing_is_left(run, scene.port)


def test_a_server_that_dies_while_measured_ends_the_run(scene: Scene) -> None:
    run = conduct(scene.run(**LONG, env={"SIM_FAULT": "die-after:1.5"}))
    assert (run.state, run.reason) == (State.FAILED, Reason.SERVER_DIED)
    assert "scheduler" in run.reason_text
    nothing_is_left(run, scene.port)


def test_a_server_with_another_model_is_not_measured(scene: Scene) -> None:
    run = conduct(scene.run(env={"SIM_FAULT": "wrong-model"}))
    assert (run.state, run.reason) == (State.FAILED, Reason.WRONG_SERVER)
    assert "/m/Demo-8B" in run.reason_text
    assert not Operation.objects.filter(kind=Operation.Kind.START_LOAD).exists()
    nothing_is_left(run, scene.port)


def test_a_stranger_on_the_port_is_found_before_the_start(scene: Scene) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", scene.port))
        stranger.listen()
        run = conduct(scene.run())
    assert (run.state, run.reason) == (State.FAILED, Reason.PORT_TAKEN)
    assert f"Port {scene.port} is taken by" in run.reason_text
    assert not Operation.objects.filter(kind=Operation.Kind.START_SERVER).exists()
    nothing_is_left(run, scene.port)


def test_a_host_that_does_not_answer_ends_the_run(scene: Scene) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        scene.host.port = closed.getsockname()[1]
        scene.host.save()
        run = conduct(scene.run())
    assert (run.state, run.reason) == (State.FAILED, Reason.UNREACHABLE)
    assert not Operation.objects.filter(kind=Operation.Kind.START_SERVER).exists()


def test_a_host_that_refuses_the_login_ends_the_run(scene: Scene) -> None:
    scene.host.user = "stranger"
    scene.host.save()
    run = conduct(scene.run())
    assert (run.state, run.reason) == (State.FAILED, Reason.LOGIN_REFUSED)


def test_a_host_with_another_key_ends_the_run(scene: Scene) -> None:
    other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0cDgZDoLDn1VqXq1yXQFr0Xb5kqOWfxGZyAYXmbY3P"
    HostKey.objects.update(public=other)
    run = conduct(scene.run())
    assert (run.state, run.reason) == (State.FAILED, Reason.HOST_KEY_CHANGED)
    assert not Operation.objects.filter(kind=Operation.Kind.START_SERVER).exists()


def test_a_node_that_has_served_a_later_holder_is_left_alone_and_the_host_is_free(
    scene: Scene,
) -> None:
    fence = scene.home / ".local/state/throughline/fence/host"
    fence.parent.mkdir(parents=True, exist_ok=True)
    fence.write_text('{"token": 99}')
    run = conduct(scene.run())
    assert (run.state, run.reason) == (State.FAILED, Reason.FENCED_OFF)
    assert "older than 99" in run.reason_text and "fence/host" in run.reason_text
    assert not Operation.objects.filter(kind=Operation.Kind.STOP).exists()
    assert not HostLease.objects.exists()


def test_a_person_stops_a_run_that_measures(scene: Scene) -> None:
    by = Person.objects.create(username="owner")

    async def stop(_: Conductor, run: Run) -> None:
        await until_state(run, State.MEASURING)
        await sync_to_async(cancel_run)(run=await fresh(run), by=by)

    run = conduct(scene.run(**LONG), stop)
    assert (run.state, run.reason) == (State.CANCELLED, Reason.BY_PERSON)
    assert run.reason_text == "stopped by owner"
    levels = Level.objects.filter(attempt__run=run)
    assert {level.state for level in levels} <= {"cut", "pending"}
    assert not levels.filter(output_tps__isnull=False).exists()  # a part stands for no level
    nothing_is_left(run, scene.port)


def test_another_conductor_goes_on_where_the_first_one_was_cut_off(scene: Scene) -> None:
    queued = scene.run(**LONG)

    async def die(conductor: Conductor, run: Run) -> None:
        await until_state(run, State.MEASURING)
        while not await Sample.objects.aexists():
            await asyncio.sleep(0.05)
        for task in list(conductor.telling.values()):
            task.cancel()  # as if the process had been killed: no claim is given back
        await Run.objects.filter(pk=run.pk).aupdate(claim_expires_at="2020-01-01T00:00:00Z")

    run = conduct(queued, die)
    assert run.state == State.SUCCEEDED, run.reason_text
    assert run.claim_epoch == 2
    assert run.attempts.count() == 1
    started = Operation.objects.filter(kind=Operation.Kind.START_LOAD)
    assert [operation.tries for operation in started] == [1]
    assert len(LogStream.objects.get(attempt__run=run, role="server").hashed) == 2
    stored_equals_node(scene, run)


def test_a_cut_link_is_shown_and_loses_no_line(scene: Scene) -> None:
    async def cut(conductor: Conductor, run: Run) -> None:
        await until_state(run, State.MEASURING)
        for _ in range(3):
            await asyncio.sleep(0.3)
            for node in list(conductor.links._nodes.values()):
                await node.connection.close()

    run = conduct(scene.run(**LONG), cut)
    assert run.state == State.SUCCEEDED, run.reason_text
    assert run.link == Run.Link.OK
    stored_equals_node(scene, run)


@pytest.mark.parametrize("role", ["server", "load"])
def test_a_killed_supervisor_ends_the_run_and_what_it_had_started(scene: Scene, role: str) -> None:
    async def kill(conductor: Conductor, run: Run) -> None:
        await until_state(run, State.MEASURING)
        folder = scene.home / ".local/state/throughline/runs" / str(run.uid) / "1" / role
        while not (folder / "started.json").exists():
            await asyncio.sleep(0.03)
        os.kill(json.loads((folder / "started.json").read_text())["supervisor_pid"], signal.SIGKILL)

    run = conduct(scene.run(**LONG), kill)
    assert (run.state, run.reason) == (State.FAILED, Reason.SUPERVISOR_LOST)
    assert f"The supervisor of the {role} on the node was killed." in run.reason_text
    nothing_is_left(run, scene.port)


def test_a_load_that_somebody_else_stops_is_told_as_such(scene: Scene) -> None:
    async def stop(conductor: Conductor, run: Run) -> None:
        await until_state(run, State.MEASURING)
        folder = scene.home / ".local/state/throughline/runs" / str(run.uid) / "1/load"
        while not (folder / "started.json").exists():
            await asyncio.sleep(0.03)
        os.kill(json.loads((folder / "started.json").read_text())["supervisor_pid"], signal.SIGTERM)

    run = conduct(scene.run(**LONG), stop)
    assert (run.state, run.reason) == (State.FAILED, Reason.LOAD_FAILED)
    assert "as its supervisor was told to stop" in run.reason_text
    nothing_is_left(run, scene.port)


def test_a_stop_that_failed_is_tried_again_until_the_node_is_clean(
    scene: Scene, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DURATIONS = replace(settings.DURATIONS, claim=1.0, heartbeat=0.3)
    tries = 0

    async def stop(node: Node, request: dict[str, Any]) -> dict[str, Any]:
        nonlocal tries
        tries += 1
        if tries < 4:
            raise (KitError("busy", "another command") if tries % 2 else RecursionError("deep"))
        return await verbs.stop(node, request)

    monkeypatch.setitem(verbs.VERBS, Operation.Kind.STOP, stop)

    async def cancel(conductor: Conductor, run: Run) -> None:
        await until_state(run, State.MEASURING)
        person = await Person.objects.acreate(username="operator")
        await sync_to_async(cancel_run)(run=await fresh(run), by=person)

    run = conduct(scene.run(**LONG), cancel)
    assert (run.state, run.reason, tries) == (State.CANCELLED, Reason.BY_PERSON, 4)
    nothing_is_left(run, scene.port)


def test_every_move_is_an_event(scene: Scene) -> None:
    run = conduct(scene.run())
    moves = Event.objects.filter(run=run, kind="state").values_list("data__to", flat=True)
    told = "acquiring preparing starting waiting-ready measuring collecting succeeded"
    assert list(moves) == told.split()
