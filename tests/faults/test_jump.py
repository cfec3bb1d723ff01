"""A whole run on a node that is reached through another machine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from hosts.fingerprint import fingerprint
from hosts.models import Host, HostKey
from runs.execution.conductor import Conductor
from runs.models import Run, Sample, State
from tests.contract import demo, sshd
from tests.contract.sshd import Sshd
from tests.faults.conftest import Scene, all_is_right, conduct, nothing_is_left, until_state

pytestmark = pytest.mark.sshd
LONG = {"levels": [2], "requests_per_level": 24, "max_tokens": 32}


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Sshd]:
    if missing := sshd.why_not():
        pytest.skip(missing)
    running = sshd.start(tmp_path / "gate")
    yield running
    running.stop()


@pytest.fixture
def behind(scene: Scene, gate: Sshd) -> Scene:
    """The scene's node, with the gate as the only way to it."""
    told = gate.target
    jump = Host.objects.create(
        name="gate", address=told.address, port=told.port, user=told.user, key_path=told.key_path
    )
    (key,) = told.host_keys
    HostKey.objects.create(host=jump, public=key, fingerprint=fingerprint(key))
    Host.objects.filter(pk=scene.host.pk).update(jump=jump)
    return scene


def test_a_run_succeeds_through_a_jump_host_also_when_that_one_cuts_it(
    behind: Scene, gate: Sshd, node: demo.DemoProcess
) -> None:
    before = node.connections()

    async def cut(_: Conductor, run: Run) -> None:
        await until_state(run, State.MEASURING)
        while not await Sample.objects.filter(stream__attempt__run=run).aexists():
            await asyncio.sleep(0.05)
        assert await asyncio.to_thread(gate.kill_sessions) >= 2  # the conductor's and a worker's

    run = conduct(behind.run(**LONG), cut)
    assert run.state == State.SUCCEEDED, run.reason_text
    assert run.link == Run.Link.OK
    assert 4 <= node.connections() - before <= gate.connections()  # none has gone past the gate
    nothing_is_left(run, behind.port)
    all_is_right(behind)
