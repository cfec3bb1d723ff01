"""The node kit over a real connection: brought once, asked, and a job's whole life."""

from __future__ import annotations

import asyncio
import time
import uuid
from pathlib import Path

import pytest

from hosts.fence import Fence
from hosts.kit import build
from hosts.launchers.process import ProcessLauncher
from hosts.node import KIT_DIR, KitError, Node
from hosts.transport.ssh import SshConnection, connect
from tests.contract.conftest import LIMITS, Server, until
from tests.contract.processes import running, running_below

TALK = "echo one; sleep 0.3; echo two; sleep 0.3; echo three"


@pytest.fixture
def node(connection: SshConnection) -> Node:
    return Node(connection)


@pytest.fixture
def launcher() -> ProcessLauncher:
    return ProcessLauncher(
        run=uuid.uuid4().hex, attempt="1", role="server", fence=Fence("tests", 0)
    )


def start(launcher: ProcessLauncher, script: str, *words: str) -> dict[str, object]:
    argv = ["sh", "-c", script, "sh", *words]
    return launcher.start_request(op="start", argv=argv, env={}, wall_s=60.0, stop_grace_s=1.0)


def kit_file(server: Server) -> Path:
    return server.home / KIT_DIR / build().name


async def test_the_kit_comes_once_and_is_whole(server: Server, node: Node) -> None:
    await node.ensure_kit()
    before = kit_file(server).stat()
    await node.ensure_kit()
    await Node(node.connection).call("facts", {})
    after = kit_file(server).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert kit_file(server).read_bytes() == build().data
    assert after.st_mode & 0o077 == 0


async def test_a_damaged_kit_is_replaced(own_server: Server) -> None:
    connection = await connect(own_server.target, LIMITS)
    await Node(connection).ensure_kit()
    kit_file(own_server).write_bytes(b"half a k")
    facts = await Node(connection).call("facts", {})
    assert facts["cpu_count"] >= 1
    assert kit_file(own_server).read_bytes() == build().data
    await connection.close()


async def test_its_clock_is_compared_with_ours(node: Node) -> None:
    """It is the same machine here: the difference is nothing but what is not sure of it."""
    clock = await node.clock()
    assert clock is not None
    assert 0 < clock["uncertainty_s"] < 10
    assert abs(clock["offset_s"]) <= clock["uncertainty_s"] + 0.001


async def test_it_tells_facts(node: Node) -> None:
    facts = await node.call("facts", {})
    assert facts["hostname"]
    assert abs(facts["time"] - time.time()) < 60
    assert facts["gpus"] == [] or facts["gpus"][0]["uuid"]


async def test_a_job_is_started_watched_followed_and_stopped(
    node: Node, launcher: ProcessLauncher
) -> None:
    word = f"mark-{launcher.run}"
    began = await node.call("start", start(launcher, "echo up; exec sleep 600", word))
    assert began["outcome"] == "started"
    assert (await node.call("start", start(launcher, "echo up")))["outcome"] == "already-started"
    async with node.follow(launcher.follow_request(0)) as chunks:
        assert await anext(chunks) == b"up\n"
    assert (await node.call("status", launcher.status_request()))["state"] == "running"
    stopped = await node.call("stop", launcher.stop_request(grace_s=1.0))
    assert stopped["outcome"] == "stopped"
    again = await node.call("stop", launcher.stop_request(grace_s=1.0))
    assert again["outcome"] == "already-exited"
    status = await node.call("status", launcher.status_request())
    assert (status["state"], status["exit"]["reason"]) == ("exited", "stopped")


async def test_following_gives_every_byte_and_ends_with_the_job(
    node: Node, launcher: ProcessLauncher
) -> None:
    await node.call("start", start(launcher, TALK))
    async with node.follow(launcher.follow_request(0)) as chunks:
        heard = b"".join([chunk async for chunk in chunks])
    assert heard == b"one\ntwo\nthree\n"
    async with node.follow(launcher.follow_request(4)) as chunks:
        assert b"".join([chunk async for chunk in chunks]) == b"two\nthree\n"


async def test_a_line_is_here_soon_after_it_was_written(
    node: Node, launcher: ProcessLauncher
) -> None:
    await node.call("start", start(launcher, "while :; do date +%s.%N; sleep 0.2; done"))
    async with node.follow(launcher.follow_request(0)) as chunks:
        for _ in range(4):
            last = (await anext(chunks)).decode().split()[-1]
        assert time.time() - float(last) < 1.0
    await node.call("stop", launcher.stop_request(grace_s=1.0))


async def test_leaving_a_follow_ends_its_process(
    server: Server, node: Node, launcher: ProcessLauncher
) -> None:
    await node.call("start", start(launcher, "echo up; exec sleep 600"))
    async with node.follow(launcher.follow_request(0)) as chunks:
        await anext(chunks)
        ours = set(running_below(server.process.pid, "follow"))
        assert ours
    await until(lambda: not ours & set(running("follow")))
    assert (await node.call("status", launcher.status_request()))["state"] == "running"
    await node.call("stop", launcher.stop_request(grace_s=1.0))


async def test_refusals_come_with_their_code(node: Node, launcher: ProcessLauncher) -> None:
    with pytest.raises(KitError) as caught:
        await node.call("no-such", {})
    assert caught.value.code == "no-such-command"
    with pytest.raises(KitError) as caught:
        await node.call("status", {"run": "../x", "attempt": "1", "role": "server"})
    assert caught.value.code == "bad-request"
    program = launcher.start_request(op="start", argv=["no-such-program"], env={}, wall_s=None)
    with pytest.raises(KitError) as caught:
        await node.call("start", program)
    assert caught.value.code == "cannot-start"


async def test_an_older_fence_is_refused(own_server: Server) -> None:
    connection = await connect(own_server.target, LIMITS)
    node, run = Node(connection), uuid.uuid4().hex
    newer = ProcessLauncher(run=run, attempt="2", role="server", fence=Fence("tests", 5))
    older = ProcessLauncher(run=run, attempt="1", role="server", fence=Fence("tests", 4))
    await node.call("start", start(newer, "true"))
    with pytest.raises(KitError) as caught:
        await node.call("start", start(older, "true"))
    assert caught.value.code == "stale-fence"
    await connection.close()


async def test_calls_at_once_bring_one_kit_and_all_get_answers(node: Node) -> None:
    answers = await asyncio.gather(*(node.call("facts", {}) for _ in range(8)))
    assert len({answer["boot_id"] for answer in answers}) == 1
