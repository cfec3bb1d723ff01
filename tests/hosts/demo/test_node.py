"""The demo node as a program: its keys, its end, its environment, and what survives what."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import pytest

from hosts.demo import machine
from hosts.demo.node import running_demo_node
from hosts.fence import Fence
from hosts.launchers.process import ProcessLauncher
from hosts.node import Node
from hosts.transport.command import Command
from hosts.transport.errors import LoginRefused
from hosts.transport.protocol import Limits
from hosts.transport.ssh import SshConnection, connect
from tests.contract import demo

LIMITS = Limits(connect_s=10.0, login_s=10.0, keepalive_s=10.0, keepalive_count=3, channels=6)
JOB = ProcessLauncher(run="r1", attempt="1", role="server", fence=Fence("tests", 0))


@pytest.fixture
def node(tmp_path: Path) -> Iterator[demo.DemoProcess]:
    running = demo.start(tmp_path / "demo")
    yield running
    running.stop()


async def start_job(node: demo.DemoProcess) -> int:
    """A detached job that ignores hang-ups; its pid."""
    link = await connect(node.target, LIMITS)
    request = JOB.start_request(op="s", argv=["sleep", "600"], env={}, wall_s=None)
    began = await Node(link).call("start", request)
    await link.close()
    return int(began["started"]["pid"])


def is_alive(pid: int) -> bool:
    return machine.start_time(pid) is not None


async def until_gone(pid: int, seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while is_alive(pid):
        assert time.monotonic() < deadline, f"{pid} is still there"
        await asyncio.sleep(0.02)


def test_it_says_how_to_reach_it_and_keeps_its_keys(node: demo.DemoProcess) -> None:
    said = node.ready
    assert said["ready"] is True
    assert said["host_key"].startswith("ssh-ed25519 ")
    assert said["fingerprint"].startswith("SHA256:")
    state = Path(said["user_key"]).parent
    for name in ("user_key", "host_key"):
        assert (state / name).stat().st_mode & 0o077 == 0
    node.stop()
    again = demo.start(node.dir)
    try:
        assert again.ready["host_key"] == said["host_key"]
        assert Path(again.ready["user_key"]).read_bytes() == (state / "user_key").read_bytes()
    finally:
        again.stop()


async def test_it_stops_within_two_seconds_whatever_is_going_on(node: demo.DemoProcess) -> None:
    job = await start_job(node)
    link = await connect(node.target, LIMITS)
    deaf = Command.of("sh", "-c", "trap '' HUP TERM; while :; do sleep 1; done")
    async with link.stream(deaf, timeout_idle=None):
        began = time.monotonic()
        node.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(node.process.wait, 5)
        assert time.monotonic() - began < 2.5
    await link.close()
    assert node.process.returncode == 0
    assert machine.at_home(node.home) == []
    assert not is_alive(job)


async def test_a_killed_node_leaves_its_jobs_and_finds_them_again(node: demo.DemoProcess) -> None:
    job = await start_job(node)
    node.kill_sessions()
    assert is_alive(job)
    again = demo.start(node.dir)
    link = await connect(again.target, LIMITS)
    status = await Node(link).call("status", JOB.status_request())
    assert status["state"] == "running"
    await link.close()
    again.stop()
    await until_gone(job)


async def ids(node: demo.DemoProcess) -> tuple[str, str]:
    link = await connect(node.target, LIMITS)
    facts = await Node(link).call("facts", {})
    await link.close()
    return facts["machine_id"], facts["boot_id"]


async def test_each_is_a_machine_of_its_own_that_boots_when_it_was_switched_off(
    node: demo.DemoProcess, tmp_path: Path
) -> None:
    port = str(node.ready["port"])
    machine_id, boot_id = await ids(node)
    node.kill_sessions()  # the SSH server alone
    again = demo.start(node.dir, "--port", port)
    assert await ids(again) == (machine_id, boot_id)
    again.stop()
    booted = demo.start(node.dir, "--port", port)
    other = demo.start(tmp_path / "other")
    try:
        same, another = await ids(booted)
        assert (same, another != boot_id) == (machine_id, True)
        assert not {machine_id, boot_id, another} & set(await ids(other))
    finally:
        booted.stop()
        other.stop()


async def test_it_ends_with_the_process_it_was_told_to_watch(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as parent:
        node = demo.start(tmp_path / "demo", "--parent-pid", str(parent.pid))
        assert node.process.poll() is None
        parent.communicate(b"\n")
    await asyncio.to_thread(node.process.wait, 5)
    assert node.process.returncode == 0


def test_a_taken_port_is_said(node: demo.DemoProcess, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="cannot start"):
        demo.start(tmp_path / "second", "--port", str(node.ready["port"]))


async def test_commands_see_a_clean_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "canary")
    monkeypatch.setenv("REDIS_URL", "canary")
    async with running_demo_node(tmp_path / "state") as node:
        link = await connect(node.target, LIMITS)
        said = (await link.run(Command.of("env"), timeout=10)).stdout.decode()
        python = Command.of("python3", "-c", "import sys; print(sys.prefix == sys.base_prefix)")
        assert (await link.run(python, timeout=10)).stdout == b"True\n"
        await link.close()
    assert "canary" not in said
    names = {line.partition("=")[0] for line in said.splitlines()}
    allowed = {"HOME", "USER", "LOGNAME", "SHELL", "LANG", "PATH", "PYTHONPATH"}
    allowed.add("THROUGHLINE_SIM_STATE")  # where the simulated GPUs are told of
    assert names <= allowed | {"PYTHONUNBUFFERED", "PWD", "OLDPWD", "SHLVL", "_"}
    assert f"HOME={node.home}" in said


async def test_a_withdrawn_key_is_refused_at_the_next_login(tmp_path: Path) -> None:
    async with running_demo_node(tmp_path / "state") as node:
        link = await connect(node.target, LIMITS)
        node.server.authorized_keys.write_text("")
        with pytest.raises(LoginRefused):
            await connect(node.target, LIMITS)
        assert (await link.run(Command.of("true"), timeout=10)).exit_status == 0
        await link.close()
        assert node.server.login_attempts == 2


# What the product never asks for, asked for with the library itself.


async def raw(state: Path, port: int) -> asyncssh.SSHClientConnection:
    return await asyncssh.connect(
        "127.0.0.1",
        port,
        config=None,
        known_hosts=asyncssh.import_known_hosts(
            f"[127.0.0.1]:{port} {(state / 'host_key.pub').read_text()}"
        ),
        username="demo",
        client_keys=[str(state / "user_key")],
        agent_path=None,
    )


async def test_the_eleventh_session_is_refused_and_a_freed_one_is_granted(
    tmp_path: Path,
) -> None:
    state = tmp_path / "state"
    async with running_demo_node(state) as node, await raw(state, node.port) as link:
        open_ = [await link.create_process("sleep 600", encoding=None) for _ in range(10)]
        with pytest.raises(asyncssh.ChannelOpenError):
            await link.create_process("true", encoding=None)
        open_[0].close()
        await open_[0].wait_closed()
        assert (await link.run("echo fine", encoding=None)).stdout == b"fine\n"


async def test_it_forwards_nothing_and_has_no_terminal(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with running_demo_node(state) as node, await raw(state, node.port) as link:
        with pytest.raises(asyncssh.ChannelOpenError):
            await link.open_connection("127.0.0.1", node.port)
        with pytest.raises(asyncssh.ChannelOpenError):
            await link.create_process("true", term_type="xterm", encoding=None)
        with pytest.raises(asyncssh.ChannelListenError):
            await link.forward_remote_port("127.0.0.1", 0, "127.0.0.1", node.port)
        said = await link.run("echo hello", encoding=None)
        assert said.stdout == b"hello\n"
        no_command = await link.run(encoding=None)
        assert no_command.exit_status == 1
        assert b"no interactive shell" in no_command.stderr


async def test_signals_reach_the_whole_command(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with running_demo_node(state) as node, await raw(state, node.port) as link:
        script = "sleep 600 & echo $!; wait"
        process = await link.create_process(script, encoding=None)
        below = int(await process.stdout.readline())
        process.terminate()
        done = await asyncio.wait_for(process.wait(), 5)
        assert done.exit_signal is not None
        assert done.exit_signal[0] == "TERM"
        await until_gone(below)


async def test_a_session_lasts_until_its_output_is_let_go(tmp_path: Path) -> None:
    """As with OpenSSH: a child in the background that holds the output keeps the session open."""
    async with running_demo_node(tmp_path / "state") as node:
        link = await connect(node.target, LIMITS)
        script = "(sleep 0.5; echo late) & echo early"
        done = await link.run(Command.of("sh", "-c", script), stdin=b"x", timeout=10)
        assert done.stdout.split() == [b"early", b"late"]
        await link.close()


async def test_a_closed_channel_ends_the_group_but_no_session_of_its_own(tmp_path: Path) -> None:
    async with running_demo_node(tmp_path / "state") as node:
        link = await connect(node.target, LIMITS)
        # it tells its number from inside its session: only then is it out of the group
        script = "setsid sh -c 'echo own $$; exec sleep 601' & sleep 602 & echo group $!; wait"
        grouped, detached = await pids_of(link, script)
        await until_gone(grouped)
        assert is_alive(detached)
        await link.close()
    assert not is_alive(detached), "the machine was switched off"


async def pids_of(link: SshConnection, script: str) -> tuple[int, int]:
    """Start, read the two pids, and leave the stream."""
    said = b""
    async with link.stream(Command.of("sh", "-c", script), stdin=b"x", timeout_idle=10) as chunks:
        while said.count(b"\n") < 2:
            said += await anext(chunks)
    words = said.decode().split()
    told = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    return told["group"], told["own"]


async def test_cut_connections_are_gone_for_the_client(tmp_path: Path) -> None:
    async with running_demo_node(tmp_path / "state") as node:
        link = await connect(node.target, LIMITS)
        assert node.server.drop_connections() == 1
        while not link.closed:
            await asyncio.sleep(0.01)
        await link.close()


def test_start_time_names_one_process() -> None:
    own = machine.start_time(os.getpid())
    assert own is not None
    assert own > 0
    with subprocess.Popen(["true"]) as ended:
        pass
    assert machine.start_time(ended.pid) is None
