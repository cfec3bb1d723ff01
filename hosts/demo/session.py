"""One command of one SSH session, run by a real shell as OpenSSH runs it.

As with OpenSSH, the session ends when the shell has exited and nobody holds its output any more.
Unlike OpenSSH, a channel closed early ends the command's whole process group: nobody is there to
look after what a demo leaves behind. What has its own session (a detached job) lives on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol

import asyncssh

from hosts.demo.home import Home

SHELL = "/bin/bash"
CHUNK = 64 * 1024
HANGUP_S = 0.5  # between HUP and KILL for a command whose channel is gone
POLL_S = 0.02

ServerProcess = asyncssh.SSHServerProcess[bytes]


async def serve(process: ServerProcess, home: Home) -> None:
    """Run ``process.command`` to its end, or until its channel is closed."""
    if process.command is None:
        process.stderr.write(b"The demo node has no interactive shell; give a command.\n")
        process.exit(1)
        return
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        lambda: SubprocessStreamProtocol(limit=CHUNK, loop=loop),
        *(SHELL, "-c", process.command),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
        cwd=home.path,
        env=home.environment(),
    )
    child = Process(transport, protocol, loop)
    try:
        await _converse(process, child)
    finally:
        transport.close()


async def _converse(process: ServerProcess, child: Process) -> None:
    feeding = asyncio.ensure_future(_feed(process, child))
    output = asyncio.ensure_future(_relay_all(process, child))
    closed = asyncio.ensure_future(process.channel.wait_closed())
    try:
        await asyncio.wait({output, closed}, return_when=asyncio.FIRST_COMPLETED)
        if output.done() and not closed.done():
            _say_exit(process, await child.wait())
        else:
            await _hang_up(child)
    finally:
        for task in (feeding, output, closed):
            task.cancel()
        await asyncio.gather(feeding, output, closed, return_exceptions=True)


async def _relay_all(process: ServerProcess, child: Process) -> None:
    """Until both outputs end, which is when their last holder has gone, and the shell too."""
    assert child.stdout is not None
    assert child.stderr is not None
    await asyncio.gather(_relay(child.stdout, process.stdout), _relay(child.stderr, process.stderr))
    await child.wait()


async def _relay(source: asyncio.StreamReader, to: asyncssh.SSHWriter[bytes]) -> None:
    while data := await source.read(CHUNK):
        try:
            to.write(data)
            await to.drain()
        except (OSError, asyncssh.Error):
            return  # the channel is closing; what follows is done by whoever waits for that


async def _feed(process: ServerProcess, child: Process) -> None:
    """The client's input and signals, until either side is gone."""
    assert child.stdin is not None
    try:
        while data := await _read(process, child):
            child.stdin.write(data)
            await child.stdin.drain()
    except (OSError, asyncssh.Error):
        pass  # the command does not read any more, or the link is gone
    finally:
        child.stdin.close()


async def _read(process: ServerProcess, child: Process) -> bytes:
    """Signals of the client arrive as exceptions of the reader."""
    while True:
        try:
            return await process.stdin.read(CHUNK)
        except asyncssh.SignalReceived as received:
            number = getattr(signal, f"SIG{received.signal}", signal.SIGTERM)
            _signal_group(child.pid, number)
        except asyncssh.BreakReceived:
            _signal_group(child.pid, signal.SIGINT)
        except asyncssh.TerminalSizeChanged:
            pass  # there is no terminal


def _say_exit(process: ServerProcess, status: int) -> None:
    with contextlib.suppress(OSError, asyncssh.Error):  # the link may go at this very moment
        if status >= 0:
            process.exit(status)
        else:
            process.exit_with_signal(signal.Signals(-status).name.removeprefix("SIG"))


async def _hang_up(child: Process) -> None:
    _signal_group(child.pid, signal.SIGHUP)
    deadline = asyncio.get_running_loop().time() + HANGUP_S
    while _group_lives(child.pid) and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(POLL_S)
    _signal_group(child.pid, signal.SIGKILL)


def _signal_group(pgid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, number)


def _group_lives(pgid: int) -> bool:
    try:
        os.killpg(pgid, 0)
    except ProcessLookupError:
        return False
    return True
