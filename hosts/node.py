"""A node: a connection with our kit on its far side."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from hosts.kit import Kit, build
from hosts.transport.command import Command
from hosts.transport.errors import CommandFailed
from hosts.transport.protocol import Completed, Connection

KIT_DIR = ".local/state/throughline/kit"  # relative to the login's home
KIT_MODE = 0o600
CHECK_S = 20.0  # start python3 and hash a file of some 100 kB; a loaded node is slow at both
OLDEST_PYTHON = (3, 8)
GREETING_LIMIT = 1024 * 1024
CLOCK_TRIES = 3  # the quickest of them tells best

# Says "3.11 <sha256>", or "3.11 -" if there is no such file.
_CHECK = (
    "import hashlib, os, sys; p = sys.argv[1]; "
    "print('%d.%d' % sys.version_info[:2], "
    "hashlib.sha256(open(p, 'rb').read()).hexdigest() if os.path.exists(p) else '-')"
)

# Whole or not at all, as SFTP does it; for nobody else to read.
_BRING = (
    "import os, sys; p = sys.argv[1]; os.makedirs(os.path.dirname(p), 0o700, exist_ok=True); "
    "t = p + '.' + str(os.getpid()); "
    "f = os.fdopen(os.open(t, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'wb'); "
    "f.write(sys.stdin.buffer.read()); f.close(); os.rename(t, p)"
)


class KitError(Exception):
    """The kit understood us and could not or would not do it; ``code`` is for programs.

    Codes of the kit itself are its own (stale-fence, cannot-start, bad-request …). From here come
    ``no-python``, ``old-python``, ``kit-damaged`` and ``no-answer``. ``details`` are the values
    that the kit told beside them.
    """

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details or {}


class Node:
    """Speaks the kit's protocol over one connection. Raises KitError and TransportError."""

    def __init__(self, connection: Connection, kit: Kit | None = None) -> None:
        self.connection = connection
        self._kit = kit or build()
        self._path = f"{KIT_DIR}/{self._kit.name}"
        self._ensuring = asyncio.Lock()
        self._ensured = False

    async def ensure_kit(self) -> None:
        """Bring this version of the kit once, and have the node itself say that it is whole."""
        async with self._ensuring:
            if self._ensured:
                return
            if await self._sha256() != self._kit.sha256:
                await self._bring()
                if await self._sha256() != self._kit.sha256:
                    raise KitError("kit-damaged", "The node kit did not arrive whole; try again.")
            self._ensured = True

    async def call(
        self, command: str, request: dict[str, Any], *, timeout: float = 30
    ) -> dict[str, Any]:
        """One request, one reply, within ``timeout`` seconds."""
        await self.ensure_kit()
        answer = await self.connection.run(
            Command.of("python3", self._path, command),
            stdin=json.dumps(request).encode(),
            timeout=timeout,
            check=False,
        )
        return _reply(command, answer)

    @asynccontextmanager
    async def follow(self, request: dict[str, Any]) -> AsyncIterator[AsyncIterator[bytes]]:
        """The bytes of a job's file from ``offset`` on, until its job has ended."""
        await self.ensure_kit()
        command = Command.of("python3", self._path, "follow")
        mark = secrets.token_hex(16)
        line = json.dumps({**request, "mark": mark}).encode() + b"\n"
        async with self.connection.stream(command, stdin=line, timeout_idle=None) as chunks:
            try:
                yield _below(mark.encode() + b"\n", chunks)
            except CommandFailed as error:
                if error.command != command:
                    raise  # of another command, in the caller's own code
                raise _refusal("follow", error.stderr, error.stderr) from error

    async def clock(self) -> dict[str, float] | None:
        """The node's clock less ours, and how far that may be wrong: half of the quickest trip.

        None if the node does not tell its time.
        """
        found = [await self._clock() for _ in range(CLOCK_TRIES)]
        told = [each for each in found if each is not None]
        return min(told, key=lambda each: each["uncertainty_s"], default=None)

    async def _clock(self) -> dict[str, float] | None:
        command = Command.of("python3", "-c", "import time; print(time.time())")
        sent, began = time.time(), time.monotonic()
        answer = await self.connection.run(command, timeout=CHECK_S, check=False)
        half = (time.monotonic() - began) / 2
        try:
            there = float(_last_line(answer.stdout))
        except ValueError:
            return None
        return {"offset_s": there - sent - half, "uncertainty_s": half}

    async def _bring(self) -> None:
        """By SFTP; by a command where the login's shell prints into everything, SFTP too."""
        try:
            await self.connection.put(self._kit.data, self._path, KIT_MODE)
        except CommandFailed as fault:
            command = Command.of("python3", "-c", _BRING, self._path)
            answer = await self.connection.run(
                command, stdin=self._kit.data, timeout=CHECK_S, check=False
            )
            if answer.exit_status != 0:
                raise fault

    async def _sha256(self) -> str:
        command = Command.of("python3", "-c", _CHECK, self._path)
        answer = await self.connection.run(command, timeout=CHECK_S, check=False)
        words = _last_line(answer.stdout).split()
        if answer.exit_status == 127:
            raise KitError("no-python", "There is no python3 on the node's PATH; install it there.")
        if answer.exit_status != 0 or len(words) != 2:
            raise _refusal("-c", answer.stdout, answer.stderr)
        if tuple(map(int, words[0].split("."))) < OLDEST_PYTHON:
            raise KitError("old-python", f"The node's python3 is {words[0]}; 3.8 is the oldest.")
        return words[1]


async def _below(mark: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The bytes below the mark: a login shell's greeting is no part of the file."""
    head = b""
    async for chunk in chunks:
        head += chunk
        _, found, rest = head.partition(mark)
        if found:
            if rest:
                yield rest
            break
        if len(head) > GREETING_LIMIT:
            raise KitError("no-answer", f"The login printed {len(head)} bytes and no file's bytes.")
    async for chunk in chunks:
        yield chunk


def _reply(command: str, answer: Completed) -> dict[str, Any]:
    reply = _json(answer.stdout)
    if answer.exit_status != 0 or reply is None or "error" in reply:
        raise _refusal(command, answer.stdout, answer.stderr)
    return reply


def _refusal(command: str, answer: bytes, complaint: bytes) -> KitError:
    """What the kit said when it did not do it; without an answer, its last words."""
    match _json(answer):
        case {"error": {"code": str(code), "message": str(message)} as error}:
            return KitError(code, message, error)
    words = _last_line(complaint) or "it said nothing"
    return KitError("no-answer", f"The node kit gave no answer to {command}: {words[:300]}")


def _json(output: bytes) -> dict[str, Any] | None:
    """The object on the last line; a login that prints a greeting first does no harm."""
    try:
        reply = json.loads(_last_line(output))
    except ValueError:
        return None
    return reply if isinstance(reply, dict) else None


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
