"""SSH to a node, by asyncssh. This file, login.py and identity.py alone know the library.

Rules kept here, each against something that was seen to go wrong:
no configuration file of a user is read; host keys come from an explicit object and nowhere else;
only the node's own key is offered and no agent is forwarded; keep-alive is on; channels carry bytes
(one invalid character would end the whole connection in text mode); a missing exit status means a
lost link; at most ``Limits.channels`` channels are open; every wait has an end.
"""

from __future__ import annotations

import asyncio
import posixpath
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress

import asyncssh

from hosts.transport import sentences
from hosts.transport.command import Command
from hosts.transport.errors import LinkLost, TransportError
from hosts.transport.heard import PAUSE_BYTES, Chunks, Heard, close_channel, feed
from hosts.transport.login import Login, is_our_timeout, log_in, translating
from hosts.transport.protocol import MAX_OUTPUT, Completed, Limits, Target

PUT_S = 60.0  # a file of ours is below 1 MiB; a link that needs longer is as good as dead
KEPT_FOR_COMMANDS = 2  # channels that followers leave free, so that a stop can always be sent

_SFTP_LOST = (asyncssh.SFTPConnectionLost, asyncssh.SFTPNoConnection)
_Channel = asyncssh.SSHClientChannel[bytes]


async def connect(target: Target, limits: Limits) -> SshConnection:
    """Log in, or raise HostKeyUnknown, HostKeyChanged, LoginRefused or Unreachable.

    Without a confirmed key nothing is sent; with a changed one, no authentication.
    """
    return SshConnection(target, limits, await log_in(target, limits))


class SshConnection:
    """One authenticated connection; see ``hosts.transport.protocol.Connection``."""

    def __init__(self, target: Target, limits: Limits, login: Login) -> None:
        self._target = target
        self._login = login
        self._link = login.link
        self._where = sentences.place(target)
        self._slots = asyncio.Semaphore(limits.channels)
        self._stream_slots = asyncio.Semaphore(max(1, limits.channels - KEPT_FOR_COMMANDS))
        self._open_s = limits.connect_s + limits.login_s

    async def run(
        self, command: Command, *, stdin: bytes = b"", timeout: float, check: bool = True
    ) -> Completed:
        heard = Heard(pausing=False)
        line = command.line if stdin else command.tied.line
        with self._explaining(command, heard, timeout):
            async with asyncio.timeout(timeout), self._slots, self._channel(line, heard) as channel:
                feed(channel, stdin, end=True)
                await self._to_the_end(heard, command)
                status = self._status(channel, heard)
        completed = Completed(status, bytes(heard.stdout), bytes(heard.stderr))
        if check and status != 0:
            raise sentences.failed(command, completed, self._where)
        return completed

    @asynccontextmanager
    async def stream(
        self, command: Command, *, stdin: bytes = b"", timeout_idle: float | None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        heard = Heard(pausing=True)
        line = command.line if stdin else command.tied.line
        async with AsyncExitStack() as stack:
            with self._explaining(command, heard, self._open_s):
                async with asyncio.timeout(self._open_s):
                    await stack.enter_async_context(self._stream_slots)
                    await stack.enter_async_context(self._slots)
                    channel = await stack.enter_async_context(self._channel(line, heard))
            feed(channel, stdin, end=False)
            yield Chunks(
                heard,
                timeout_idle,
                lambda: self._explaining(command, heard, timeout_idle),
                lambda: self._finish_stream(command, channel, heard),
            )

    async def put(self, data: bytes, path: str, mode: int = 0o600) -> None:
        command = Command.of("put", path)
        part = f"{path}.{secrets.token_hex(4)}.part"
        with self._explaining(command, None, PUT_S):
            async with (
                asyncio.timeout(PUT_S),
                self._slots,
                self._link.start_sftp_client() as sftp,
            ):
                await _put(sftp, data, path, part, mode)

    async def close(self) -> None:
        await self._login.close()

    @property
    def closed(self) -> bool:
        return self._link.is_closed()

    @asynccontextmanager
    async def _channel(self, line: str, heard: Heard) -> AsyncIterator[_Channel]:
        """Open a channel that runs ``line``; whatever happens, it is closed again."""
        session = self._link.create_session(
            lambda: _Session(heard), line, encoding=None, window=PAUSE_BYTES, env=(), send_env=()
        )
        opening = asyncio.ensure_future(session)
        try:
            channel, _ = await asyncio.shield(opening)
        except asyncio.CancelledError:
            # The node may still grant it; a channel nobody holds would stay open for good.
            opening.add_done_callback(_close_late)
            raise
        try:
            yield channel
        finally:
            await close_channel(channel, heard)

    async def _to_the_end(self, heard: Heard, command: Command) -> None:
        while not heard.ended:
            await heard.news.wait()
            heard.news.clear()
            if max(len(heard.stdout), len(heard.stderr)) > MAX_OUTPUT:
                raise sentences.too_much(command.parts[0], self._where, MAX_OUTPUT)

    def _finish_stream(self, command: Command, channel: _Channel, heard: Heard) -> None:
        status = self._status(channel, heard)
        if status != 0:
            ended = Completed(status, b"", bytes(heard.stderr))
            raise sentences.failed(command, ended, self._where)

    def _status(self, channel: _Channel, heard: Heard) -> int:
        status = channel.get_returncode()
        if heard.lost is not None or status is None:
            raise self._lost(heard.lost)
        return status

    def _lost(self, problem: Exception | None) -> LinkLost:
        gone = [link.is_closed() for link in self._login.through]
        jump = self._target.way[gone.index(True)] if True in gone else None
        return sentences.lost(self._where, self._login.greeter.lost or problem, jump)

    @contextmanager
    def _explaining(
        self, command: Command, heard: Heard | None, seconds: float | None
    ) -> Iterator[None]:
        """Turn what the library raises under a command into our tree, with what was heard."""
        program = command.parts[0]

        def explain(problem: Exception) -> TransportError:
            if is_our_timeout(problem):
                return sentences.timed_out(program, self._where, seconds or 0)
            if isinstance(problem, asyncssh.SFTPError) and not isinstance(problem, _SFTP_LOST):
                return sentences.not_taken(command.parts[-1], self._where, str(problem))
            if isinstance(problem, asyncssh.ChannelOpenError) and not self.closed:
                return sentences.no_session(self._where, str(problem))
            return self._lost(problem)

        try:
            with translating(explain):
                yield
        except TransportError as error:
            error.command = command
            if heard is not None:
                error.stdout, error.stderr = bytes(heard.stdout), bytes(heard.stderr)
            raise


class _Session(asyncssh.SSHClientSession[bytes]):
    """Hands what a channel says to ``Heard``."""

    def __init__(self, heard: Heard) -> None:
        self._heard = heard

    def connection_made(self, chan: _Channel) -> None:
        self._heard.begin(chan)

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        self._heard.add(data, complaint=datatype == asyncssh.EXTENDED_DATA_STDERR)

    def eof_received(self) -> bool:
        return True  # half-open: our stdin stays until we close the channel

    def connection_lost(self, exc: Exception | None) -> None:
        self._heard.end(exc)


def _close_late(opening: asyncio.Future[tuple[_Channel, asyncssh.SSHClientSession[bytes]]]) -> None:
    if opening.cancelled() or opening.exception() is not None:
        return
    opening.result()[0].close()


async def _put(sftp: asyncssh.SFTPClient, data: bytes, path: str, part: str, mode: int) -> None:
    parent = posixpath.dirname(path)
    if parent:
        await sftp.makedirs(parent, asyncssh.SFTPAttrs(permissions=0o700), exist_ok=True)
    try:
        async with sftp.open(part, "xb", asyncssh.SFTPAttrs(permissions=0o600)) as file:
            await file.write(data)
        await sftp.chmod(part, mode)
        await sftp.posix_rename(part, path)
    except asyncssh.SFTPError:
        with suppress(asyncssh.SFTPError):  # never made, or the link is gone: the first error says
            await sftp.remove(part)
        raise
