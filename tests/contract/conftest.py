"""Every test here runs twice: against a real OpenSSH server, and against the demo node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from hosts.transport.protocol import Limits
from hosts.transport.ssh import SshConnection, connect
from tests.contract import demo, sshd

Server = sshd.Sshd | demo.DemoProcess

BOTH = [pytest.param("sshd", marks=pytest.mark.sshd), "demo"]
LIMITS = Limits(connect_s=10.0, login_s=10.0, keepalive_s=10.0, keepalive_count=3, channels=6)


def started(kind: str, factory: pytest.TempPathFactory) -> Server:
    if kind == "demo":
        return demo.start(factory.mktemp("demo"))
    if missing := sshd.why_not():
        pytest.skip(missing)
    return sshd.start(factory.mktemp("sshd"))


@pytest.fixture(scope="session", params=BOTH)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """One for all tests that leave it as they found it."""
    running = started(request.param, tmp_path_factory)
    yield running
    running.stop()


@pytest.fixture(params=BOTH)
def own_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """One for a test that breaks it."""
    running = started(request.param, tmp_path_factory)
    yield running
    running.stop()


@pytest_asyncio.fixture
async def connection(server: Server) -> AsyncIterator[SshConnection]:
    link = await connect(server.target, LIMITS)
    yield link
    await link.close()


async def until(condition: object, seconds: float = 5.0) -> None:
    """Poll a callable until it is true; fails after ``seconds``."""
    assert callable(condition)
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "it did not come true in time"
        await asyncio.sleep(0.02)
