"""The error tree of the transport: one class per cause that a caller treats differently.

Every message is a sentence for people: what happened, what it means, what to do. The error is also
the record: it carries the command, its exit status and all output received so far.
"""

from __future__ import annotations

from typing import ClassVar

from hosts.transport.command import Command


class TransportError(Exception):
    """Root of everything that can go wrong between us and a node."""

    reason: ClassVar[str] = "transport"

    def __init__(
        self,
        message: str,
        *,
        command: Command | None = None,
        exit_status: int | None = None,
        stdout: bytes = b"",
        stderr: bytes = b"",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hop: int | None = None  # the jump host at which it happened; None: the target itself
        self.command = command
        self.exit_status = exit_status
        self.stdout = stdout
        self.stderr = stderr

    def __str__(self) -> str:
        return self.message  # the hop that it is about may have been named since


class Unreachable(TransportError):
    """No SSH login could even be tried, or it was never answered. Nothing was started."""

    reason = "unreachable"


class Dropped(Unreachable):
    """The node hung up before the login was done: often too many logins at once. Try again."""


class LoginRefused(TransportError):
    """The node is the right one, and does not let us in; or our key could not be used at all."""

    reason = "login-refused"


class KeyUnusable(LoginRefused):
    """Our own key or agent could not be used, so the node was not asked at all."""


class HostKeyUnknown(TransportError):
    """No person confirmed a key of this node yet. Nothing was sent to it."""

    reason = "host-key-unknown"


class HostKeyChanged(TransportError):
    """The node showed another key than the confirmed one. No login was tried.

    ``expected`` and ``offered`` are fingerprints; ``offered`` is None when the node has no key of
    a confirmed kind any more.
    """

    reason = "host-key-changed"

    def __init__(self, message: str, *, expected: tuple[str, ...], offered: str | None) -> None:
        super().__init__(message)
        self.expected = expected
        self.offered = offered


class LinkLost(TransportError):
    """The connection ended under a command. What became of the command is unknown."""

    reason = "link-lost"


class NoSession(LinkLost):
    """The node opens no further session on this connection, which lives. Nothing was started."""


class CommandTimedOut(TransportError):
    """No end, or no output, in time. The channel was closed; the connection lives."""

    reason = "command-timed-out"


class CommandFailed(TransportError):
    """The command ended with another status than 0, or wrote more than it may."""

    reason = "command-failed"
