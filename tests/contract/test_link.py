"""A link may die at any moment: it is noticed, named, and ends nothing on the node."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from dataclasses import replace

import pytest

from hosts.fence import Fence
from hosts.launchers.process import ProcessLauncher
from hosts.node import Node
from hosts.transport.command import Command
from hosts.transport.errors import LinkLost, TransportError
from hosts.transport.ssh import SshConnection, connect
from tests.contract.conftest import LIMITS, Server, until
from tests.contract.processes import running
from tests.contract.proxy import Proxy, running_proxy

WATCHFUL = replace(LIMITS, keepalive_s=0.3, keepalive_count=2)
CUTS: list[Callable[[Proxy], None]] = [Proxy.reset, Proxy.freeze]


def endless(word: str) -> Command:
    return Command.of("python3", "-c", "import time; time.sleep(600)", word)


@pytest.fixture
def word() -> str:
    return f"mark-{uuid.uuid4().hex}"


async def caught_from(task: asyncio.Future[object]) -> BaseException | None:
    await asyncio.wait({task}, timeout=10)
    assert task.done(), "nobody noticed"
    return task.exception()


@pytest.mark.parametrize("cut", CUTS)
async def test_a_cut_link_ends_a_command_with_link_lost(
    server: Server, cut: Callable[[Proxy], None], word: str
) -> None:
    async with running_proxy(server.target.port) as proxy:
        target = replace(server.target, port=proxy.port)
        link = await connect(target, WATCHFUL)
        task = asyncio.ensure_future(link.run(endless(word), timeout=60))
        await until(lambda: running(word))
        began = time.monotonic()
        cut(proxy)
        assert isinstance(await caught_from(task), LinkLost)
        assert time.monotonic() - began < 4
        assert link.closed
        with pytest.raises(LinkLost):
            await link.run(Command.of("true"), timeout=10)
        with pytest.raises(LinkLost):
            await link.put(b"x", "never")
        await link.close()
    await until(lambda: not running(word))


@pytest.mark.parametrize("cut", CUTS)
async def test_a_cut_link_ends_a_stream_after_its_last_bytes(
    server: Server, cut: Callable[[Proxy], None]
) -> None:
    async with running_proxy(server.target.port) as proxy:
        link = await connect(replace(server.target, port=proxy.port), WATCHFUL)
        command = Command.of("sh", "-c", "printf bytes; exec sleep 600")
        async with link.stream(command, timeout_idle=60) as chunks:
            assert await anext(chunks) == b"bytes"
            cut(proxy)
            with pytest.raises(LinkLost):
                await asyncio.wait_for(anext(chunks), 10)
        await link.close()


async def test_a_server_that_is_killed_is_noticed_at_once(own_server: Server, word: str) -> None:
    link = await connect(own_server.target, LIMITS)
    task = asyncio.ensure_future(link.run(endless(word), timeout=60))
    await until(lambda: running(word))
    assert own_server.kill_sessions() >= 1
    began = time.monotonic()
    error = await caught_from(task)
    assert isinstance(error, LinkLost)
    assert "goes on" in error.message
    assert time.monotonic() - began < 3
    await link.close()


async def test_a_cut_login_is_told_as_unreachable(server: Server) -> None:
    async with running_proxy(server.target.port) as proxy:
        proxy.freeze()
        with pytest.raises(TransportError) as caught:
            await connect(replace(server.target, port=proxy.port), replace(LIMITS, login_s=0.5))
    assert caught.value.reason == "unreachable"


async def test_a_job_outlives_its_link_and_is_found_again(server: Server) -> None:
    job = ProcessLauncher(run=uuid.uuid4().hex, attempt="1", role="server", fence=Fence("tests", 0))
    script = "for n in 1 2 3 4 5 6 7 8; do echo line $n; sleep 0.1; done"
    async with running_proxy(server.target.port) as proxy:
        link = await connect(replace(server.target, port=proxy.port), WATCHFUL)
        node = Node(link)
        await node.call(
            "start", job.start_request(op="s", argv=["sh", "-c", script], env={}, wall_s=60.0)
        )
        async with node.follow(job.follow_request(0)) as chunks:
            heard = await anext(chunks)
            proxy.reset()
            try:
                async for chunk in chunks:
                    heard += chunk
                pytest.fail("the link was cut")
            except LinkLost:
                pass
        await link.close()
    assert heard + await rest(server, job, len(heard)) == b"".join(
        b"line %d\n" % n for n in range(1, 9)
    )


async def rest(server: Server, job: ProcessLauncher, offset: int) -> bytes:
    link: SshConnection = await connect(server.target, LIMITS)
    node = Node(link)
    async with node.follow(job.follow_request(offset)) as chunks:
        heard = b"".join([chunk async for chunk in chunks])
    status = await node.call("status", job.status_request())
    assert (status["state"], status["exit"]["code"]) == ("exited", 0)
    await link.close()
    return heard
