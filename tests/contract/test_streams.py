"""Output that is read while it is written."""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from hosts.transport.command import Command
from hosts.transport.errors import CommandFailed, CommandTimedOut
from hosts.transport.ssh import SshConnection
from tests.contract.conftest import LIMITS, until
from tests.contract.processes import running

SILENT = "import time; print('here', flush=True); time.sleep(600)"
UNTIL_STDIN_ENDS = "import sys; print('here', flush=True); sys.stdin.read()"
# replaced whole, so that a reader of the file never finds it empty
COUNTS_WHAT_IT_WRITES = """
import os, sys
written = 0
while True:
    written += sys.stdout.write("x" * 65536)
    with open(sys.argv[1] + ".new", "w") as file:
        file.write(str(written))
    os.replace(sys.argv[1] + ".new", sys.argv[1])
"""
ECHO_LINE = "import sys; print(sys.stdin.readline(), end='', flush=True)"


async def read(connection: SshConnection, command: Command, **options: object) -> bytes:
    async with connection.stream(command, timeout_idle=10, **options) as chunks:  # type: ignore[arg-type]
        return b"".join([chunk async for chunk in chunks])


async def test_what_is_written_arrives_before_the_end(connection: SshConnection) -> None:
    script = "printf one; sleep 0.6; printf two"
    async with connection.stream(Command.of("sh", "-c", script), timeout_idle=10) as chunks:
        assert await anext(chunks) == b"one"
        first = time.monotonic()
        assert await anext(chunks) == b"two"
        assert time.monotonic() - first > 0.3
        with pytest.raises(StopAsyncIteration):
            await anext(chunks)


@pytest.mark.parametrize(("script", "stdin"), [(SILENT, b""), (UNTIL_STDIN_ENDS, b"a line\n")])
async def test_leaving_a_stream_ends_its_program(
    connection: SshConnection, script: str, stdin: bytes
) -> None:
    word = f"mark-{uuid.uuid4().hex}"
    command = Command.of("python3", "-c", script, word)
    async with connection.stream(command, stdin=stdin, timeout_idle=10) as chunks:
        assert (await anext(chunks)).startswith(b"here")
        assert running(word)
    await until(lambda: not running(word))


async def test_a_program_may_be_given_a_line_first(connection: SshConnection) -> None:
    command = Command.of("python3", "-c", ECHO_LINE)
    assert await read(connection, command, stdin=b'{"a": 1}\n') == b'{"a": 1}\n'


async def test_a_bad_end_is_an_error_after_the_last_bytes(connection: SshConnection) -> None:
    command = Command.of("sh", "-c", "printf bytes; echo 'disk full' >&2; exit 4")
    async with connection.stream(command, timeout_idle=10) as chunks:
        assert await anext(chunks) == b"bytes"
        with pytest.raises(CommandFailed, match="disk full") as caught:
            await anext(chunks)
    assert caught.value.exit_status == 4


async def test_silence_beyond_the_idle_limit_is_an_error(connection: SshConnection) -> None:
    async with connection.stream(Command.of("sleep", "600"), timeout_idle=0.2) as chunks:
        with pytest.raises(CommandTimedOut):
            await anext(chunks)


async def test_a_slow_reader_gets_every_byte(connection: SshConnection) -> None:
    command = Command.of("python3", "-c", "import sys; sys.stdout.write('%0999d\\n' % 7 * 20_000)")
    heard = hashlib.sha256()
    async with connection.stream(command, timeout_idle=10) as chunks:
        await asyncio.sleep(0.3)  # the sender runs into our limit meanwhile
        async for chunk in chunks:
            heard.update(chunk)
    assert heard.digest() == hashlib.sha256(b"%0999d\n" % 7 * 20_000).digest()


async def test_a_reader_that_is_too_slow_holds_the_sender_back(
    connection: SshConnection, tmp_path: Path
) -> None:
    told = tmp_path / "written"
    script = tmp_path / "sender.py"
    script.write_text(COUNTS_WHAT_IT_WRITES)
    command = Command.of("python3", str(script), str(told))
    taken = 0
    async with connection.stream(command, timeout_idle=10) as chunks:
        for _ in range(40):
            await asyncio.sleep(0.02)
            taken += len(await anext(chunks))
        assert int(told.read_text()) - taken < 16 * 2**20  # what both sides hold, with the pipes


async def test_other_commands_pass_an_unread_stream(connection: SshConnection) -> None:
    endless = Command.of("sh", "-c", "while :; do echo line; done")
    async with connection.stream(endless, timeout_idle=10):
        began = time.monotonic()
        await connection.run(Command.of("true"), timeout=10)
        assert time.monotonic() - began < 3


async def test_streams_leave_channels_for_commands(connection: SshConnection) -> None:
    silent = Command.of("sleep", "600")
    async with AsyncExitStack() as stack:
        for _ in range(LIMITS.channels - 2):
            await stack.enter_async_context(connection.stream(silent, timeout_idle=None))
        one_more = asyncio.ensure_future(read(connection, Command.of("echo", "at last")))
        await connection.run(Command.of("true"), timeout=10)
        assert not one_more.done()
    assert await one_more == b"at last\n"


async def test_opened_and_left_streams_use_up_no_sessions(connection: SshConnection) -> None:
    for _ in range(12):
        async with connection.stream(Command.of("sleep", "600"), timeout_idle=None):
            pass
    assert await read(connection, Command.of("echo", "fine")) == b"fine\n"
