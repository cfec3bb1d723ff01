"""Logging in to a node, by way of its jump hosts, and asking one for its host key.

Every hop is recognised by its own confirmed keys and gets its own key of ours; what stands between
us and the node sees an encrypted stream.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import asyncssh

from hosts.transport import sentences
from hosts.transport.addresses import Refused, dial
from hosts.transport.errors import TransportError
from hosts.transport.heard import CLOSE_S
from hosts.transport.identity import identity
from hosts.transport.protocol import HostKeyOffer, Limits, Target
from hosts.transport.wellformed import problem_with

# The library tells every command at INFO; command lines are not for our log.
logging.getLogger("asyncssh").setLevel(logging.WARNING)

Link = asyncssh.SSHClientConnection

# Best first. Without this list the library would prefer RSA when it is asked for a node's key.
_ECDSA = ("ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521")
_RSA = ("rsa-sha2-512", "rsa-sha2-256")
_HOST_KEY_KINDS = ("ssh-ed25519", *_ECDSA, *_RSA)


@dataclass(frozen=True)
class Login:
    """A link to the node; ``through`` are those to its jump hosts, in the order they were made."""

    link: Link
    greeter: Greeter
    through: tuple[Link, ...]

    async def close(self) -> None:
        await _close_all((*self.through, self.link))


async def log_in(target: Target, limits: Limits) -> Login:
    """Log in hop by hop, or raise HostKeyUnknown, HostKeyChanged, LoginRefused or Unreachable.

    Without a confirmed key of every hop nothing is sent; to one with a changed key, no
    authentication.
    """
    for hop, place in enumerate(target.way):
        with _on_the_way(target, hop):
            if problem := problem_with(place):
                raise problem
            _pinned(place)
    through: list[Link] = []
    try:
        for hop, place in enumerate(target.way[:-1]):
            with _on_the_way(target, hop):
                through.append((await _hop(place, limits, through))[0])
        with _on_the_way(target, len(through)):
            link, greeter = await _hop(target, limits, through)
    except BaseException:
        await _close_all(through)
        raise
    return Login(link, greeter, tuple(through))


async def fetch_host_key(target: Target, limits: Limits) -> HostKeyOffer:
    """Ask a node for its host key without logging in there, for a person to compare.

    Its jump hosts are logged in to. Raises what ``log_in`` raises for them, and Unreachable.
    """
    if problem := problem_with(target):
        raise problem
    if target.jump is None:
        return await _ask_for_key(target, limits, None)
    try:
        jump = await log_in(target.jump, limits)
    except TransportError as error:
        raise sentences.on_the_way(error, target, error.hop or 0) from error
    try:
        with _on_the_way(target, len(target.way) - 1):
            return await _ask_for_key(target, limits, jump.link)
    finally:
        await jump.close()


async def _ask_for_key(target: Target, limits: Limits, jump: Link | None) -> HostKeyOffer:
    where = sentences.endpoint(target.address, target.port)

    def explain(problem: Exception) -> TransportError:
        if isinstance(problem, asyncssh.ChannelOpenError):
            return sentences.no_way_on(target, problem.code, problem.reason)
        text = str(problem) or type(problem).__name__
        return sentences.no_login(where, limits, False, is_our_timeout(problem), text)

    with translating(explain):
        async with asyncio.timeout(limits.connect_s):
            key = await asyncssh.get_server_host_key(
                target.address,
                target.port,
                config=None,
                sock=await _dialled(target),
                tunnel=jump,
                server_host_key_algs=_HOST_KEY_KINDS,
            )
    if key is None:
        raise sentences.no_connection(where, "it showed no host key")
    public = key.export_public_key("openssh").decode().strip()
    return HostKeyOffer(public, key.get_fingerprint(), key.get_algorithm())


async def _hop(target: Target, limits: Limits, through: Sequence[Link]) -> tuple[Link, Greeter]:
    pinned = _pinned(target)
    known_hosts = _known_hosts(target, pinned)
    fingerprints = [key.get_fingerprint() for key in pinned]
    async with identity(target, limits) as keys:
        greeter = Greeter(limits)
        with translating(lambda p: _explain_login(p, target, fingerprints, greeter)):
            async with asyncio.timeout(limits.connect_s) as greeter.timer:
                link = await asyncssh.connect(
                    target.address,
                    target.port,
                    config=None,
                    sock=await _dialled(target),
                    tunnel=through[-1] if through else None,
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
    return link, greeter


async def _dialled(target: Target) -> socket.socket | None:
    """A socket to an address that was looked at; none behind a jump host, which connects itself."""
    if target.jump is not None:
        return None
    try:
        return await dial(target.address, target.port, loopback=target.loopback)
    except Refused as problem:
        raise sentences.no_node_there(str(problem)) from problem


@contextmanager
def _on_the_way(target: Target, hop: int) -> Iterator[None]:
    """What is raised inside is told with the hop at which it happened."""
    try:
        yield
    except TransportError as error:
        raise sentences.on_the_way(error, target, hop) from error.__cause__


async def _close_all(links: Sequence[Link]) -> None:
    for link in reversed(links):
        await _close(link)


async def _close(link: Link) -> None:
    link.close()
    try:
        await asyncio.wait_for(link.wait_closed(), CLOSE_S)
    except TimeoutError:
        link.abort()


class Greeter(asyncssh.SSHClient):
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


@contextmanager
def translating(explain: Callable[[Exception], TransportError]) -> Iterator[None]:
    """The one place where the library's errors are caught."""
    try:
        yield
    except (asyncssh.Error, OSError, TimeoutError) as problem:
        raise explain(problem) from problem


def is_our_timeout(problem: Exception) -> bool:
    """Ours has no errno; the kernel's ETIMEDOUT is the same class, and means a dead link."""
    return isinstance(problem, TimeoutError) and problem.errno is None


def _explain_login(
    problem: Exception, target: Target, fingerprints: Sequence[str], greeter: Greeter
) -> TransportError:
    where, text = sentences.place(target), str(problem) or type(problem).__name__
    if isinstance(problem, asyncssh.ChannelOpenError) and target.jump is not None:
        return sentences.no_way_on(target, problem.code, problem.reason)
    if isinstance(problem, asyncssh.HostKeyNotVerifiable):
        return sentences.key_changed(target, fingerprints, greeter.offered)
    if isinstance(problem, asyncssh.KeyExchangeFailed) and "host key" in text:
        return sentences.key_changed(target, fingerprints, None)
    if isinstance(problem, asyncssh.PermissionDenied) or "authentication failures" in text:
        return sentences.refused(target)
    timed_out = is_our_timeout(problem) or "Login timeout" in text
    return sentences.no_login(where, greeter.limits, greeter.connected, timed_out, text)
