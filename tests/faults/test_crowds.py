"""Many nodes at once that do not answer, and servers that let few in at once."""

from __future__ import annotations

import asyncio
import shlex
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from django.db.models import F, Max

from hosts.demo import machine
from hosts.demo.home import Home
from hosts.fingerprint import fingerprint
from hosts.models import Host, HostKey, HostLease
from hosts.transport.protocol import Target
from people.models import Person
from runs.models import Attempt, LogStream, Operation, Run, State
from tests.contract import sshd
from tests.faults.conftest import Scene, all_is_right, conduct, nothing_is_left
from tests.faults.stack import Stack
from tests.faults.test_endings import stored_equals_node

CROWD = 40
SHORT = {"levels": [2], "requests_per_level": 16, "max_tokens": 24}


class Silence:
    """A port that takes every connection and never says a word."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("0.0.0.0", 0), backlog=1024)
        self.port = int(self._listener.getsockname()[1])
        self.taken: list[socket.socket] = []
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    def _take(self) -> None:
        with suppress(OSError):  # closed: the test is over
            while True:
                self.taken.append(self._listener.accept()[0])

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)
        for each in self.taken:
            each.close()


@pytest.fixture
def silence() -> Iterator[Silence]:
    made = Silence()
    yield made
    made.close()


def away(scene: Scene, n: int, port: int) -> Run:
    """A run under way on a node that does not answer any more."""
    host = Host.objects.create(
        name=f"away-{n}", address=f"127.9.{n // 200}.{n % 200 + 1}", port=port, user="demo",
        key_path=scene.host.key_path, simulated=True,
    )  # fmt: skip
    # a key of its own: two names with one key are one machine
    key = asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode().strip()
    HostKey.objects.create(host=host, public=key, fingerprint=fingerprint(key))
    run = Scene(host=host, port=scene.port, home=scene.home).run(**SHORT)
    lease = HostLease.grant(host, holder=str(run.uid), holder_name=str(run), gpus=[], port=1)
    assert lease is not None
    Run.objects.filter(pk=run.pk).update(
        state=State.MEASURING, started_at=F("queued_at"), fence=lease.fence
    )
    attempt = Attempt.objects.create(run=run, server={"pid": 1, "supervisor_pid": 1})
    for role in ("server", "load"):
        LogStream.objects.create(attempt=attempt, role=role, path=f"{role}.log")
    results = {
        Operation.Kind.PREPARE: {"facts": {}, "listeners": [], "gpus": None, "unit": None},
        Operation.Kind.START_SERVER: {"started": attempt.server},
        Operation.Kind.START_LOAD: {"started": {}},
    }
    for kind, result in results.items():
        Operation.objects.create(
            attempt=attempt, kind=kind, fence=lease.fence, state=Operation.State.DONE,
            result=result,
        )  # fmt: skip
    return run


def measured(stack: Stack, run: Run) -> tuple[float, float]:
    """Seconds from its order to its end, and the longest wait of an operation for a worker."""
    begun = time.monotonic()
    ended = stack.until_final(run, 240)
    assert ended.state == State.SUCCEEDED, ended.reason_text
    took = time.monotonic() - begun
    waits = Operation.objects.filter(attempt__run=run).aggregate(
        longest=Max(F("sent_at") - F("planned_at"))
    )
    return took, waits["longest"].total_seconds()


@pytest.mark.faults
@pytest.mark.slow
def test_f73_many_silent_nodes_hold_up_no_run_on_another(
    scene: Scene, stack: Stack, silence: Silence
) -> None:
    stack.scale = 0.5  # so many stories look at their rows often enough at 1:2
    stack.conductor()
    stack.worker()
    alone, waited_alone = measured(stack, scene.run(**SHORT))
    runs = [away(scene, n, silence.port) for n in range(CROWD)]
    # half of them are to be stopped: that takes a worker, as soon as their node is back
    by = Person.objects.create(username="owner")
    stopped = [run.pk for run in runs[::2]]
    Run.objects.filter(pk__in=stopped).update(
        cancel_requested_at=F("queued_at"), cancel_requested_by=by
    )
    told = Run.objects.filter(pk__in=[run.pk for run in runs])
    stack.until("told", lambda: not told.filter(link="ok").exists(), 240)
    beside, waited = measured(stack, scene.run(**SHORT))
    print(f"alone {alone:.1f} s, beside {CROWD} silent nodes {beside:.1f} s")
    print(f"longest wait for a worker {waited_alone:.2f} s and {waited:.2f} s")
    assert waited < waited_alone + 2.0
    assert beside < alone * 1.5 + 5.0
    assert set(told.values_list("state", flat=True)) == {State.MEASURING}
    sent = Operation.objects.filter(attempt__run__in=stopped, kind=Operation.Kind.STOP, tries__gt=0)
    assert not sent.exists(), "no worker waits for a node that is away"


@pytest.fixture
def narrow(tmp_path: Path, transactional_db: None, free_port: int) -> Iterator[Scene]:
    """A node with OpenSSH's server that lets two log in at once, and two sessions a connection."""
    if missing := sshd.why_not():
        pytest.skip(missing)
    server = sshd.start(tmp_path / "sshd", "MaxSessions 2\n", startups="2:100:2")
    home = Home(server.home)
    home.install()
    exports = "".join(f"export {k}={shlex.quote(v)}\n" for k, v in home.environment().items())
    (server.dir / "enter").write_text(sshd.ENTER.replace("#!/bin/sh\n", f"#!/bin/sh\n{exports}"))
    yield Scene(host=a_host(server.target), port=free_port, home=server.home)
    server.stop()
    machine.switch_off(server.home)


def a_host(target: Target) -> Host:
    host = Host.objects.create(
        name="narrow", address=target.address, port=target.port, user=target.user,
        key_path=target.key_path or "", simulated=True,
    )  # fmt: skip
    (key,) = target.host_keys
    HostKey.objects.create(host=host, public=key, fingerprint=fingerprint(key))
    return host


@pytest.mark.sshd
def test_f74_a_run_succeeds_where_two_may_log_in_and_a_connection_has_two_sessions(
    narrow: Scene, settings: Any
) -> None:
    settings.DURATIONS = replace(settings.DURATIONS, pace=0.5, pause_most=1.0, unreachable=20.0)
    crowd = [socket.create_connection(("127.0.0.1", narrow.host.port)) for _ in range(2)]

    async def meanwhile(*_: object) -> None:
        log = narrow.home.parent / "sshd.log"
        for _ in range(200):  # nobody is let in until somebody was turned away
            if "past MaxStartups" in log.read_text(errors="replace"):
                break
            await asyncio.sleep(0.1)
        for each in crowd:
            each.close()

    run = conduct(narrow.run(**SHORT), meanwhile)
    assert run.state == State.SUCCEEDED, run.reason_text
    assert run.link == Run.Link.OK
    nothing_is_left(run, narrow.port)
    stored_equals_node(narrow, run)
    all_is_right(narrow)
    said = (narrow.home.parent / "sshd.log").read_text(errors="replace")
    assert "past MaxStartups" in said and "no more sessions" in said, "the limits were met"
