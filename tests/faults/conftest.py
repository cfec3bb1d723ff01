"""A demo node, and a conductor whose bell starts a thread instead of a Celery worker.

Everything else is real: SSH, node kit, supervisor, simulated engine, database on a file.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from hosts.fingerprint import fingerprint
from hosts.models import Host, HostKey, HostLease
from hosts.nodekit.failpoints import Failpoint
from hosts.nodekit.proc import living, look
from hosts.pool import POOL
from runs.actions.launch import NewArm, launch_campaign
from runs.execution.conductor import Conductor
from runs.execution.verbs import perform
from runs.models import Run, ServerConfig, Workload
from tests.contract import demo
from tests.faults.stack import Stack
from tests.oracle import complaints
from webapp.durations import Durations

QUICK = {"SIM_STARTUP_S": "0.3", "SIM_SETTLE_S": "0.1"}
END_S = 60.0  # far more than any of these runs takes


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[demo.DemoProcess]:
    running = demo.start(tmp_path_factory.mktemp("node"))
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def quick(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DURATIONS = replace(
        Durations(),
        sweep=0.1, watch=0.2, ready_check=0.1, reconnect=0.1, stop_grace=2.0, flush=0.1,
        pace=0.1, pause_most=0.3, unreachable=1.0,
    )  # fmt: skip
    settings.REDIS_URL = "unix:///nowhere/redis.sock"  # the live feed must not be needed
    monkeypatch.setattr("runs.execution.story.ring", ring_a_thread)


@pytest.fixture(autouse=True)
def no_link_outlives_its_test() -> Iterator[None]:
    yield
    POOL.close()


def ring_a_thread(operation_id: int) -> bool:
    def work() -> None:
        try:
            perform(operation_id)
        except Failpoint:
            pass  # Celery logs a task that raises, and goes on
        finally:
            connections.close_all()

    threading.Thread(target=work, daemon=True).start()
    return True


@dataclass(frozen=True)
class Scene:
    """A host and what its runs need."""

    host: Host
    port: int
    home: Path

    def run(self, **changes: Any) -> Run:
        """One queued run; ``env`` and ``flags`` are the server's, the rest is the workload's."""
        env = QUICK | changes.pop("env", {})
        flags = {"--tp": 1} | changes.pop("flags", {})
        config = ServerConfig(
            engine="sglang", model="/m/Demo-8B", flags=flags, port=self.port, env=env,
            gpus=changes.pop("gpus", []),
        )  # fmt: skip
        told = {
            "driver": "probe", "levels": [1, 2], "requests_per_level": 3, "warmup_requests": 0,
            "prompt_set": "chat", "max_tokens": 12, "temperature": 0.0, "ignore_eos": True,
            "seed": 1, "request_timeout_s": 20.0,
        }  # fmt: skip
        campaign = launch_campaign(
            question="What happens?",
            arms=[NewArm("arm", config)],
            workload=Workload(**told | changes),
            host=self.host,
            repeats=1,
            by=None,
        )
        return campaign.runs.get()


def end_jobs(home: Path) -> None:
    """What another test has left on the node, so that each fails alone."""
    until = time.monotonic() + 5
    while (left := _leaders(home)) and time.monotonic() < until:
        for pgid in left:
            with suppress(ProcessLookupError):
                os.killpg(pgid, signal.SIGKILL)
        time.sleep(0.05)


def until_nobody_is_served(node: demo.DemoProcess) -> None:
    """A call of a process that was killed lives on for a moment, and may yet write its fence."""
    until = time.monotonic() + 10
    while calls := [each for each in living() if each.ppid == node.process.pid]:
        assert time.monotonic() < until, f"the node still serves {calls}"
        time.sleep(0.02)


def _leaders(home: Path) -> list[int]:
    """The groups of the jobs that still live."""
    found = []
    for path in home.glob(".local/state/throughline/runs/*/*/*/started.json"):
        record = json.loads(path.read_bytes())
        leader = look(record["pid"])
        ours = leader is not None and leader.start_time == record["start_time"]
        if ours and leader is not None and leader.state not in "ZX":
            found.append(record["pgid"])
    return found


@pytest.fixture
def scene(transactional_db: None, node: demo.DemoProcess, free_port: int) -> Iterator[Scene]:
    target = node.target
    until_nobody_is_served(node)
    end_jobs(node.home)
    # each test has a database of its own, and with it is another installation
    (node.home / ".local/state/throughline/fence/host").unlink(missing_ok=True)
    host = Host.objects.create(
        name="node",
        address=target.address,
        port=target.port,
        user=target.user,
        key_path=target.key_path or "",
        simulated=True,
    )
    (key,) = target.host_keys
    HostKey.objects.create(host=host, public=key, fingerprint=fingerprint(key))
    yield Scene(host=host, port=free_port, home=node.home)
    POOL.close()
    end_jobs(node.home)


Meanwhile = Callable[[Conductor, Run], Any]


def conduct(
    run: Run,
    meanwhile: Meanwhile | None = None,
    name: str = "conductor",
    seconds: float = END_S,
) -> Run:
    """Conduct until the run has ended, with something happening meanwhile; the run as it is."""

    async def story() -> None:
        conductor = Conductor(name)
        until = time.monotonic() + seconds
        ended = False

        def go_on() -> bool:
            assert time.monotonic() < until, "the run did not end in time"
            return not ended

        conducting = asyncio.create_task(conductor.conduct(go_on))
        try:
            if meanwhile is not None:
                await meanwhile(conductor, run)
            while not conducting.done() and not (await fresh(run)).is_final:
                await asyncio.sleep(0.05)
        finally:
            ended = True
            with suppress(asyncio.CancelledError):
                await conducting
            await sync_to_async(connections.close_all)()

    asyncio.run(story())
    return Run.objects.get(pk=run.pk)


async def fresh(run: Run) -> Run:
    return await Run.objects.aget(pk=run.pk)


async def until_state(run: Run, state: str, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while (await fresh(run)).state != state:
        assert time.monotonic() < deadline, f"never {state}: {(await fresh(run)).state}"
        await asyncio.sleep(0.03)


def nothing_is_left(run: Run, port: int) -> None:
    """No process of the run, nobody on its port, the host free."""
    attempt = run.attempts.last()
    if attempt is not None and attempt.server:
        assert not lives(attempt.server["pid"])
        assert not lives(attempt.server["supervisor_pid"])
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    assert not HostLease.objects.filter(holder=str(run.uid)).exists()


def lives(pid: int) -> bool:
    """Whether the process runs; one that only waits to be reaped by init does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@pytest.fixture
def stack(tmp_path: Path, redis_url: str, transactional_db: None) -> Iterator[Stack]:
    """Real conductors and workers, started and killed by the test."""
    made = Stack(tmp_path, redis_url)
    yield made
    made.close()
    connections.close_all()


def all_is_right(scene: Scene) -> None:
    """The oracle has nothing to complain of."""
    assert complaints([scene.home]) == []
