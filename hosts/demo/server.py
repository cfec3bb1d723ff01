"""The SSH server of the demo node: who may log in, and what a connection may ask for."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import cast

import asyncssh

from hosts.demo.home import USER, Home
from hosts.demo.session import ServerProcess, serve

MAX_SESSIONS = 10  # OpenSSH's own default: what works here must not fail on a real node
SFTP_VERSION = 3  # what OpenSSH speaks

log = logging.getLogger(__name__)


class Server:
    """What all connections of one node share."""

    def __init__(self, home: Home, authorized_keys: Path) -> None:
        self.home = home
        self.authorized_keys = authorized_keys
        self.login_attempts = 0
        self.connections: set[asyncssh.SSHServerConnection] = set()
        self._sessions: set[asyncio.Task[None]] = set()

    def authorized_text(self) -> str:
        """Empty if nobody may log in: the library takes that as a list of no keys."""
        text = self.authorized_keys.read_text() if self.authorized_keys.exists() else ""
        return text.strip()

    def start_session(self, process: ServerProcess) -> None:
        """As a task of the node, not of the connection: it has to outlive it to clean up."""
        task = asyncio.get_running_loop().create_task(serve(process, self.home))
        self._sessions.add(task)
        task.add_done_callback(self._sessions.discard)

    def drop_connections(self) -> int:
        """Cut every connection without a word, as a network does; returns how many."""
        found = list(self.connections)
        for connection in found:
            connection.abort()
        return len(found)

    async def sessions_ended(self, seconds: float) -> None:
        if self._sessions:
            await asyncio.wait(set(self._sessions), timeout=seconds)


class Guest(asyncssh.SSHServer):
    """One connection."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._connection: asyncssh.SSHServerConnection | None = None
        self._open_sessions = 0

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._server.connections.add(conn)
        log.info("connection from %s", conn.get_extra_info("peername"))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._connection is not None:
            self._server.connections.discard(self._connection)

    def begin_auth(self, username: str) -> bool:
        """The keys are read anew for every login, so that a withdrawn one counts at once."""
        assert self._connection is not None
        self._server.login_attempts += 1
        log.info("login attempt of %r", username)
        text = self._server.authorized_text() if username == USER else ""
        self._connection.set_authorized_keys(asyncssh.import_authorized_keys(text))
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def session_requested(self) -> asyncssh.SSHServerSession[bytes] | bool:
        """Refused beyond the limit, as OpenSSH does."""
        if self._open_sessions >= MAX_SESSIONS:
            return False
        self._open_sessions += 1
        return Session(self._server, self._session_ended)

    def _session_ended(self) -> None:
        self._open_sessions -= 1


class Session(asyncssh.SSHServerProcess[bytes]):
    """A channel that runs a command or transfers files."""

    def __init__(self, server: Server, ended: Callable[[], None]) -> None:
        home = os.fsencode(server.home.path)
        super().__init__(
            server.start_session,
            lambda channel: HomeFiles(channel, home),
            SFTP_VERSION,
            allow_scp=False,
        )
        self._ended = ended

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended()
        super().connection_lost(exc)


class HomeFiles(asyncssh.SFTPServer):
    """File transfer that begins in the home, as a login does."""

    def __init__(self, channel: object, home: bytes) -> None:
        super().__init__(cast("asyncssh.SSHServerChannel[bytes]", channel))
        self._home = home

    def map_path(self, path: bytes) -> bytes:
        return os.path.join(self._home, path)
