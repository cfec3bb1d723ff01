"""One command: its input, output, status, limits, and what becomes of it when we leave."""

from __future__ import annotations

import asyncio
import time
import uuid

import pytest

from hosts.transport.command import Command
from hosts.transport.errors import CommandFailed, CommandTimedOut
from hosts.transport.protocol import MAX_OUTPUT
from hosts.transport.ssh import SshConnection
from tests.contract.conftest import LIMITS, Server, until
from tests.contract.processes import running

pytestmark = pytest.mark.usefixtures("server")


def shell(script: str, *arguments: str) -> Command:
    return Command.of("sh", "-c", script, "sh", *arguments)


def endless(word: str) -> Command:
    """A program that says nothing and does not end; ``word`` finds it."""
    return Command.of("python3", "-c", "import time; time.sleep(600)", word)


@pytest.fixture
def word() -> str:
    return f"mark-{uuid.uuid4().hex}"


async def test_it_tells_status_and_both_outputs_apart(connection: SshConnection) -> None:
    done = await connection.run(
        shell("printf out; printf err >&2; exit 3"), timeout=10, check=False
    )
    assert (done.exit_status, done.stdout, done.stderr) == (3, b"out", b"err")


async def test_a_bad_status_is_an_error_that_carries_everything(connection: SshConnection) -> None:
    command = shell("printf out; echo 'no such model' >&2; exit 3")
    with pytest.raises(CommandFailed, match="no such model") as caught:
        await connection.run(command, timeout=10)
    error = caught.value
    assert (error.command, error.exit_status) == (command, 3)
    assert (error.stdout, error.stderr) == (b"out", b"no such model\n")


async def test_a_signal_is_a_bad_status(connection: SshConnection) -> None:
    done = await connection.run(shell("kill -9 $$"), timeout=10, check=False)
    assert done.exit_status in (-9, 128 + 9)


async def test_input_arrives_whole_and_ends(connection: SshConnection) -> None:
    data = bytes(range(256)) * 1024
    done = await connection.run(Command.of("cat"), stdin=data, timeout=10)
    assert done.stdout == data


async def test_without_input_there_is_its_end_at_once(connection: SshConnection) -> None:
    assert (await connection.run(Command.of("cat"), timeout=10)).stdout == b""


async def test_input_that_is_not_read_is_no_error(connection: SshConnection) -> None:
    done = await connection.run(Command.of("true"), stdin=b"x" * 300_000, timeout=10)
    assert done.exit_status == 0


async def test_bytes_that_are_no_text_do_no_harm(connection: SshConnection) -> None:
    script = r"printf '\377\376\000'"
    assert (await connection.run(shell(script), timeout=10)).stdout == b"\xff\xfe\0"
    assert (await connection.run(shell(script), timeout=10)).stdout == b"\xff\xfe\0"


async def test_it_begins_at_home_and_arguments_stay_whole(
    connection: SshConnection, server: Server
) -> None:
    awkward = "a  b;$(id) `id` 'q' \"d\" \\ * ~ é"
    done = await connection.run(shell('pwd; printf %s "$1"', awkward), timeout=10)
    assert done.stdout.decode() == f"{server.home}\n{awkward}"


async def test_nothing_of_our_surroundings_goes_along(
    connection: SshConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_SECRET", "canary")
    said = (await connection.run(Command.of("env"), timeout=10)).stdout
    for name in (b"SSH_AUTH_SOCK", b"DISPLAY", b"canary", b"DJANGO_SETTINGS_MODULE"):
        assert name not in said


async def test_an_answer_beyond_all_bounds_ends_the_command(
    connection: SshConnection, word: str
) -> None:
    flood = Command.of("python3", "-c", "while True: print('x' * 999)", word)
    with pytest.raises(CommandFailed, match="wrote more than") as caught:
        await connection.run(flood, timeout=20)
    assert len(caught.value.stdout) < 8 * MAX_OUTPUT
    await until(lambda: not running(word))
    assert (await connection.run(Command.of("echo", "fine"), timeout=10)).stdout == b"fine\n"


async def test_a_command_that_takes_too_long_is_ended(connection: SshConnection, word: str) -> None:
    began = time.monotonic()
    with pytest.raises(CommandTimedOut) as caught:
        await connection.run(shell('echo begun; exec "$@"', *endless(word).parts), timeout=0.7)
    assert time.monotonic() - began < 4
    assert caught.value.stdout == b"begun\n"
    await until(lambda: not running(word))


async def test_a_stuck_command_holds_up_nobody(connection: SshConnection, word: str) -> None:
    stuck = asyncio.ensure_future(connection.run(endless(word), timeout=30))
    await until(lambda: running(word))
    began = time.monotonic()
    await connection.run(Command.of("true"), timeout=10)
    assert time.monotonic() - began < 3
    stuck.cancel()
    await asyncio.gather(stuck, return_exceptions=True)


async def test_cancelling_closes_the_channel_and_ends_the_command(
    connection: SshConnection, word: str
) -> None:
    task = asyncio.ensure_future(connection.run(endless(word), timeout=30))
    await until(lambda: running(word))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not running(word))


async def test_given_up_commands_use_up_no_sessions(connection: SshConnection, word: str) -> None:
    """A real node grants ten; a silent command that outlived its channel would keep one."""
    for _ in range(12):
        with pytest.raises(CommandTimedOut):
            await connection.run(endless(word), timeout=0.12)
    done = await connection.run(Command.of("echo", "fine"), timeout=10)
    assert done.stdout == b"fine\n"


async def test_more_commands_than_channels_wait_for_their_turn(
    connection: SshConnection, server: Server, word: str
) -> None:
    script = 'echo + >>"$1"; sleep 0.15; echo - >>"$1"; printf %s "$2"'
    ended = await asyncio.gather(
        *(connection.run(shell(script, word, str(n)), timeout=30) for n in range(20))
    )
    assert [done.stdout for done in ended] == [str(n).encode() for n in range(20)]
    assert most_at_once((server.home / word).read_text().split()) == LIMITS.channels


def most_at_once(marks: list[str]) -> int:
    now = most = 0
    for mark in marks:
        now += 1 if mark == "+" else -1
        most = max(most, now)
    return most
