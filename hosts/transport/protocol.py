"""What every connection to a node can do, and the values that cross this seam."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from hosts.transport.command import Command

MAX_OUTPUT = 1 << 20
"""Bytes of stdout and of stderr that one command may answer: a node's output is not trusted."""


MAX_JUMPS = 3
"""Jump hosts on the way to one target: each takes a login, and a verb has a minute in all."""


@dataclass(frozen=True)
class Target:
    """Where to connect and how to prove who we are.

    ``host_keys`` are the confirmed public keys, each "ssh-ed25519 AAAA…"; without any, nothing
    connects. Exactly one of ``key_path`` (private key file) and ``agent_path`` (agent socket) is
    given; ``agent_key`` is the fingerprint of the agent's key that is the host's (without it the
    agent must hold one only). With a ``jump`` the address is one that the jump host reaches, over
    the login there.
    Without ``loopback`` it must not be one of the machine that connects (behind a jump: may be).
    """

    address: str
    port: int
    user: str
    host_keys: tuple[str, ...]
    key_path: str | None
    agent_path: str | None
    jump: Target | None = None
    loopback: bool = False
    agent_key: str | None = None

    @property
    def way(self) -> tuple[Target, ...]:
        """The jump hosts in the order in which they are passed, then the target itself."""
        return (*self.jump.way, self) if self.jump else (self,)


@dataclass(frozen=True)
class Limits:
    """Seconds, but for ``keepalive_count`` (unanswered ones that end the link) and ``channels``.

    ``channels`` counts what is open at once on one connection; OpenSSH refuses the eleventh.
    """

    connect_s: float
    login_s: float
    keepalive_s: float
    keepalive_count: int
    channels: int


@dataclass(frozen=True)
class Completed:
    """A command that ended.

    Ended by signal n, it has the ``exit_status`` 128 + n if its shell tells of it, else -n.
    """

    exit_status: int
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True)
class HostKeyOffer:
    """A key that a node showed, for a person to compare. It proves nothing by itself."""

    key: str
    fingerprint: str
    algorithm: str


class Connection(Protocol):
    """One authenticated connection. Every method raises only ``TransportError``."""

    async def run(
        self, command: Command, *, stdin: bytes = b"", timeout: float, check: bool = True
    ) -> Completed:
        """Run to the end, within ``timeout`` seconds including the wait for a free channel.

        Without ``stdin`` the program is ended with its channel; with it, it reads to the end of
        its input. ``check`` makes every status but 0 a ``CommandFailed``.
        """
        ...

    def stream(
        self, command: Command, *, stdin: bytes = b"", timeout_idle: float | None
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Chunks of stdout as they come; leaving the context ends the program.

        Without ``stdin`` our shell ends it. With ``stdin`` its input stays open until the context
        is left, and the program itself must end at the end of its input.
        """
        ...

    async def put(self, data: bytes, path: str, mode: int = 0o600) -> None:
        """Write a file whole or not at all; missing parents are made with mode 0700."""
        ...

    async def close(self) -> None: ...

    @property
    def closed(self) -> bool: ...
