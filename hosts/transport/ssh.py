"""SSH to a node, by asyncssh. The only file of the product that knows the library.

Rules kept here, each against something that was seen to go wrong:
no configuration file of a user is read; host keys come from an explicit object and nowhere else;
only the node's own key is offered and no agent is forwarded; keep-alive is on; channels carry bytes
(one invalid character would end the whole connection in text mode); a missing exit status means a
lost link; at most ``Limits.channels`` channels are open; every wait has an end.
"""

from __future__ import annotations

import asyncio
import logging
import posixpath
import secrets
import stat
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path

import asyncssh

from hosts.transport import sentences
from hosts.transport.command import Command
from hosts.transport.errors import LinkLost, TransportError
from hosts.transport.heard import CLOSE_S, PAUSE_BYTES, Chunks, Heard, close_channel, feed
from hosts.transport.protocol import MAX_OUTPUT, Completed, HostKeyOffer, Limits, Target
from hosts.transport.wellformed import problem_with

# The library tells every command at INFO; command lines are not for our log.
logging.getLogger("asyncssh").setLevel(logging.WARNING)

PUT_S = 60.0  # a file of ours is below 1 MiB; a link that needs longer is as good as dead
KEPT_FOR_COMMANDS = 2  # channels that followers leave free, so that a stop can always be sent

_SFTP_LOST = (asyncssh.SFTPConnectionLost, asyncssh.SFTPNoConnection)
_Channel = asyncssh.SSHClientChannel[bytes]

# Best first. Without this list the library would prefer RSA when it is asked for a node's key.
_ECDSA = ("ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521")
_RSA = ("rsa-sha2-512", "rsa-sha2-256")
_HOST_KEY_KINDS = ("ssh-ed25519", *_ECDSA, *_RSA)


async def connect(target: Target, limits: Limits) -> SshConnection:
    """Log in, or raise HostKeyUnknown, HostKeyChanged, LoginRefused or Unreachable.

    Without a confirmed key nothing is sent; with a changed one, no authentication.
    """
    if problem := problem_with(target):
        raise problem
    pinned = _pinned(target)
    known_hosts = _known_hosts(target, pinned)
    fingerprints = [key.get_fingerprint() for key in pinned]
    where = sentences.place(target)
    async with _identity(target, limits) as keys:
        greeter = _Greeter(limits)
        with _translating(lambda p: _explain_login(p, target, fingerprints, greeter)):
            async with asyncio.timeout(limits.connect_s) as greeter.timer:
                link = await asyncssh.connect(
                    target.address,
                    target.port,
                    config=None,
                    client_factory=lambda: greeter,
                    known_hosts=known_hosts,
                    server_host_key_algs=_kinds(pinned),
                    x509_trusted_certs=None,
                    username=target.user,
                    client_keys=keys,
                    agent_path=None,
                    agent_forwarding=False,
                    x11_forwarding=False,
                    send_env=(),
                    preferred_auth=("publickey",),
                    password_auth=False,
                    kbdint_auth=False,
                    host_based_auth=False,
                    gss_host=None,
                    login_timeout=limits.login_s,
                    keepalive_interval=limits.keepalive_s,
                    keepalive_count_max=limits.keepalive_count,
                )
    return SshConnection(link, where, limits, greeter)


async def fetch_host_key(address: str, port: int, limits: Limits) -> HostKeyOffer:
    """Ask a node for its host key without logging in, for a person to compare. Unreachable."""
    where = sentences.endpoint(address, port)

    def explain(problem: Exception) -> TransportError:
        text = str(problem) or type(problem).__name__
        return sentences.no_login(where, limits, False, _is_our_timeout(problem), text)

    with _translating(explain):
        async with asyncio.timeout(limits.connect_s):
            key = await asyncssh.get_server_host_key(
                address, port, config=None, server_host_key_algs=_HOST_KEY_KINDS
            )
    if key is None:
        raise sentences.no_connection(where, "it showed no host key")
    public = key.export_public_key("openssh").decode().strip()
    return HostKeyOffer(public, key.get_fingerprint(), key.get_algorithm())


class SshConnection:
    """One authenticated connection; see ``hosts.transport.protocol.Connection``."""

    def __init__(
        self, link: asyncssh.SSHClientConnection, where: str, limits: Limits, greeter: _Greeter
    ) -> None:
        self._link = link
        self._where = where
        self._greeter = greeter
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
        self._link.close()
        try:
            await asyncio.wait_for(self._link.wait_closed(), CLOSE_S)
        except TimeoutError:
            self._link.abort()

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
        return sentences.lost(self._where, self._greeter.lost or problem)

    @contextmanager
    def _explaining(
        self, command: Command, heard: Heard | None, seconds: float | None
    ) -> Iterator[None]:
        """Turn what the library raises under a command into our tree, with what was heard."""
        program = command.parts[0]

        def explain(problem: Exception) -> TransportError:
            if _is_our_timeout(problem):
                return sentences.timed_out(program, self._where, seconds or 0)
            if isinstance(problem, asyncssh.SFTPError) and not isinstance(problem, _SFTP_LOST):
                return sentences.not_taken(command.parts[-1], self._where, str(problem))
            if isinstance(problem, asyncssh.ChannelOpenError) and not self.closed:
                return sentences.no_session(self._where, str(problem))
            return self._lost(problem)

        try:
            with _translating(explain):
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


class _Greeter(asyncssh.SSHClient):
    """Watches the beginning and the end of one connection for what the errors have to say."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.timer: asyncio.Timeout | None = None
        self.connected = False
        self.offered: str | None = None
        self.lost: Exception | None = None

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        self.connected = True
        if self.timer is not None:
            self.timer.reschedule(asyncio.get_running_loop().time() + self.limits.login_s)

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        """Asked only when no confirmed key matched. The answer is no; the key is for the report."""
        self.offered = key.get_fingerprint()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = exc


def _pinned(target: Target) -> list[asyncssh.SSHKey]:
    if not target.host_keys:
        raise sentences.key_unknown(target, "No host key was confirmed yet")
    try:
        return [asyncssh.import_public_key(text) for text in target.host_keys]
    except ValueError as problem:
        raise sentences.key_unknown(target, "A stored host key is unreadable") from problem


def _known_hosts(target: Target, keys: Sequence[asyncssh.SSHKey]) -> asyncssh.SSHKnownHosts:
    """The object that the library checks; nothing connects without one.

    None would switch checking off, and an empty list or empty bytes would let it read the user's
    own file.
    """
    place = target.address if target.port == 22 else f"[{target.address}]:{target.port}"
    lines = [f"{place} {key.export_public_key('openssh').decode().strip()}" for key in keys]
    return asyncssh.import_known_hosts("\n".join(lines))


def _kinds(keys: Sequence[asyncssh.SSHKey]) -> list[str]:
    """The kinds of the confirmed keys first, so that a node with several keys shows that one; then
    the others, so that one which has none of these shows what it has instead of hanging up."""
    first: list[str] = []
    for key in keys:
        kind = key.get_algorithm()
        first += _RSA if kind == "ssh-rsa" else (kind,)
    return [*first, *(kind for kind in _HOST_KEY_KINDS if kind not in first)]


@asynccontextmanager
async def _identity(target: Target, limits: Limits) -> AsyncIterator[Sequence[asyncssh.SSHKeyPair]]:
    """The key pairs to offer, never an empty list: the library would take the user's own keys."""
    if target.key_path and not target.agent_path:
        yield [await asyncio.to_thread(_key_file, target.key_path)]
    elif target.agent_path and not target.key_path:
        async with AsyncExitStack() as until_logged_in:
            yield await _agent_keys(target.agent_path, limits, until_logged_in)
    else:
        raise sentences.no_way_in(target)


def _key_file(path: str) -> asyncssh.SSHKeyPair:
    try:
        if stat.S_IMODE(Path(path).stat().st_mode) & 0o077:
            raise sentences.unusable_key(path, "others may read it (chmod 600 would end that)")
        return asyncssh.load_keypairs(asyncssh.read_private_key(path))[0]
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or str(problem)
        raise sentences.unusable_key(path, why) from problem


async def _agent_keys(
    path: str, limits: Limits, stack: AsyncExitStack
) -> Sequence[asyncssh.SSHKeyPair]:
    try:
        async with asyncio.timeout(limits.connect_s):
            agent = await stack.enter_async_context(await asyncssh.connect_agent(path))
            keys = await agent.get_keys()
    except (asyncssh.Error, OSError, ValueError) as problem:
        raise sentences.unusable_agent(path, str(problem) or "it did not answer") from problem
    if not keys:
        raise sentences.unusable_agent(path, "it holds no key")
    return keys


@contextmanager
def _translating(explain: Callable[[Exception], TransportError]) -> Iterator[None]:
    """The one place where the library's errors are caught."""
    try:
        yield
    except (asyncssh.Error, OSError, TimeoutError) as problem:
        raise explain(problem) from problem


def _is_our_timeout(problem: Exception) -> bool:
    """Ours has no errno; the kernel's ETIMEDOUT is the same class, and means a dead link."""
    return isinstance(problem, TimeoutError) and problem.errno is None


def _explain_login(
    problem: Exception, target: Target, fingerprints: Sequence[str], greeter: _Greeter
) -> TransportError:
    where, text = sentences.place(target), str(problem) or type(problem).__name__
    if isinstance(problem, asyncssh.HostKeyNotVerifiable):
        return sentences.key_changed(target, fingerprints, greeter.offered)
    if isinstance(problem, asyncssh.KeyExchangeFailed) and "host key" in text:
        return sentences.key_changed(target, fingerprints, None)
    if isinstance(problem, asyncssh.PermissionDenied) or "authentication failures" in text:
        return sentences.refused(target)
    timed_out = _is_our_timeout(problem) or "Login timeout" in text
    return sentences.no_login(where, greeter.limits, greeter.connected, timed_out, text)


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
