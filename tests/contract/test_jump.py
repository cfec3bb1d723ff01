"""A node behind other machines: reached hop by hop, each recognised by its own confirmed keys."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hosts.transport.command import Command
from hosts.transport.errors import (
    HostKeyChanged,
    HostKeyUnknown,
    LinkLost,
    LoginRefused,
    TransportError,
    Unreachable,
)
from hosts.transport.login import fetch_host_key
from hosts.transport.protocol import MAX_JUMPS, Target
from hosts.transport.ssh import connect
from tests.contract import sshd
from tests.contract.conftest import LIMITS, Server, until
from tests.contract.sshd import Sshd, children, free_port
from tests.contract.test_login import made_key

pytestmark = pytest.mark.sshd


def started(dir: Path, extra: str = "") -> Sshd:
    if missing := sshd.why_not():
        pytest.skip(missing)
    return sshd.start(dir, extra)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Sshd]:
    running = started(tmp_path / "gate")
    yield running
    running.stop()


@pytest.fixture
def inner(tmp_path: Path) -> Iterator[Sshd]:
    running = started(tmp_path / "inner")
    yield running
    running.stop()


async def refused(target: Target) -> TransportError:
    with pytest.raises(TransportError) as caught:
        await connect(target, LIMITS)
    return caught.value


def below(pid: int) -> Iterator[int]:
    for child in children(pid):
        yield child
        yield from below(child)


def holds_port(server: Sshd, port: int) -> bool:
    """Whether a process of this server has a connection from the local port."""
    inodes = {
        row[9]
        for row in map(str.split, Path("/proc/net/tcp").read_text().splitlines()[1:])
        if int(row[1].rpartition(":")[2], 16) == port
    }
    for pid in below(server.process.pid):
        for fd in Path(f"/proc/{pid}/fd").iterdir():
            if os.readlink(fd).removeprefix("socket:[").rstrip("]") in inodes:
                return True
    return False


async def test_a_node_is_reached_through_its_jump(gate: Sshd, inner: Sshd) -> None:
    link = await connect(replace(inner.target, jump=gate.target), LIMITS)
    try:
        done = await link.run(Command.of("id", "-un"), timeout=10)
        assert done.stdout.decode().strip() == getpass.getuser()
        (port,) = re.findall(r"Connection from 127.0.0.1 port (\d+)", inner.log.read_text())
        assert holds_port(gate, int(port)), "it did not come from the jump host"
        assert gate.connections() == 1
    finally:
        await link.close()
    await until(lambda: not children(gate.process.pid))
    assert link.closed


async def test_files_and_streams_go_through_it_too(gate: Sshd, server: Server) -> None:
    link = await connect(replace(server.target, jump=gate.target), LIMITS)
    try:
        data = bytes(range(256)) * 4000
        await link.put(data, "through/a/jump")
        async with link.stream(Command.of("cat", "through/a/jump"), timeout_idle=10) as chunks:
            assert b"".join([chunk async for chunk in chunks]) == data
    finally:
        await link.close()


async def test_a_chain_is_passed_in_order(gate: Sshd, inner: Sshd, server: Server) -> None:
    middle = replace(inner.target, jump=gate.target)
    target = replace(server.target, jump=middle)
    assert target.way == (gate.target, middle, target)
    link = await connect(target, LIMITS)
    assert (await link.run(Command.of("echo", "there"), timeout=10)).stdout == b"there\n"
    await link.close()


async def test_s14_each_hop_is_recognised_by_its_own_keys(gate: Sshd, inner: Sshd) -> None:
    """The keys of one hop count nothing at another; and nobody is logged in to on the way."""
    stranger = replace(gate.target, host_keys=inner.target.host_keys)
    error = await refused(replace(inner.target, jump=stranger))
    assert isinstance(error, HostKeyChanged)
    assert error.hop == 0
    assert "at its jump host" in error.message
    assert gate.login_attempts() == inner.connections() == 0

    swapped = replace(inner.target, host_keys=gate.target.host_keys, jump=gate.target)
    error = await refused(swapped)
    assert isinstance(error, HostKeyChanged)
    assert error.hop is None
    assert "By way of" in error.message
    assert inner.login_attempts() == 0


async def test_s14_a_hop_without_a_confirmed_key_stops_all_before_anything_is_sent(
    gate: Sshd, inner: Sshd
) -> None:
    error = await refused(replace(inner.target, jump=replace(gate.target, host_keys=())))
    assert isinstance(error, HostKeyUnknown)
    assert error.hop == 0
    error = await refused(replace(inner.target, host_keys=(), jump=gate.target))
    assert isinstance(error, HostKeyUnknown)
    assert error.hop is None
    assert gate.connections() == inner.connections() == 0


async def test_the_hop_that_refuses_is_named(gate: Sshd, inner: Sshd, tmp_path: Path) -> None:
    other = str(made_key(tmp_path / "other"))
    error = await refused(replace(inner.target, jump=replace(gate.target, key_path=other)))
    assert isinstance(error, LoginRefused)
    assert f"127.0.0.1:{gate.port} refused the login" in error.message
    assert error.hop == 0

    error = await refused(replace(inner.target, key_path=other, jump=gate.target))
    assert isinstance(error, LoginRefused)
    assert f"127.0.0.1:{inner.port} refused the login" in error.message
    assert error.hop is None
    await until(lambda: not children(gate.process.pid))


async def test_a_second_jump_that_is_off_is_named(gate: Sshd, inner: Sshd) -> None:
    off = replace(inner.target, port=free_port(), jump=gate.target)
    error = await refused(replace(inner.target, jump=off))
    assert isinstance(error, Unreachable)
    assert error.hop == 1
    assert "jump host 2 of 2" in error.message
    assert f"cannot reach 127.0.0.1:{off.port}" in error.message
    assert inner.connections() == 0


@pytest.mark.parametrize("rule", ["AllowTcpForwarding no", "PermitOpen 127.0.0.1:9"])
async def test_a_jump_that_forbids_passing_says_what_to_allow(
    tmp_path: Path, inner: Sshd, rule: str
) -> None:
    gate = started(tmp_path / "strict", f"{rule}\n")
    try:
        error = await refused(replace(inner.target, jump=gate.target))
    finally:
        gate.stop()
    assert isinstance(error, Unreachable)
    assert "AllowTcpForwarding" in error.message
    assert inner.connections() == 0


async def test_a_jump_that_dies_under_a_command_is_named(gate: Sshd, inner: Sshd) -> None:
    link = await connect(replace(inner.target, jump=gate.target), LIMITS)
    gate.kill_sessions()
    with pytest.raises(LinkLost, match=rf"jump host \S+@127.0.0.1:{gate.port}"):
        await link.run(Command.of("sleep", "5"), timeout=10)
    await until(lambda: link.closed)
    await link.close()


async def test_a_key_is_fetched_through_the_jump(gate: Sshd, inner: Sshd) -> None:
    nobody_knows_it_yet = replace(inner.target, host_keys=(), jump=gate.target)
    offer = await fetch_host_key(nobody_knows_it_yet, LIMITS)
    assert (offer.key,) == inner.target.host_keys
    assert inner.login_attempts() == 0
    await until(lambda: not children(gate.process.pid))

    with pytest.raises(HostKeyUnknown) as unknown:
        await fetch_host_key(replace(inner.target, jump=replace(gate.target, host_keys=())), LIMITS)
    assert unknown.value.hop == 0
    with pytest.raises(Unreachable, match="cannot reach"):
        await fetch_host_key(replace(nobody_knows_it_yet, port=free_port()), LIMITS)


async def test_too_long_a_way_is_refused_before_anything_is_sent(gate: Sshd) -> None:
    target = gate.target
    for _ in range(MAX_JUMPS + 1):
        target = replace(gate.target, jump=target)
    error = await refused(target)
    assert isinstance(error, Unreachable)
    assert "perhaps they name each other in a ring" in error.message
    assert gate.connections() == 0
