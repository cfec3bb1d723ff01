"""One channel: what it said so far, its input, its end, and the iterator of a stream.

Knows no SSH library; what it needs of a channel is ``Side``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

PAUSE_BYTES = 1024 * 1024
"""Unread bytes of a stream at which its sender has to wait.

Not less than the channel's window: the library opens the whole window again at the first byte it
hands on, whatever it still holds back, so a reader that takes less at a time than the window would
let it hold back more and more.
"""

STDERR_TAIL = 64 * 1024
"""Bytes kept of a stream's complaints, which may go on for days."""


CLOSE_S = 1.0
"""Seconds of politeness towards a node that may be gone; what is closed is closed either way."""


class Side(Protocol):
    """Our side of a channel."""

    def write(self, data: bytes) -> None: ...

    def write_eof(self) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None: ...

    async def wait_closed(self) -> None: ...


class Heard:
    """A reader waits for ``news``; ``ended`` is set after the last byte, ``lost`` says why early.

    ``pausing``: the reader takes the bytes as they come and the sender may be paused. Otherwise
    everything is kept, and the reader has to watch how much it is.
    """

    def __init__(self, *, pausing: bool) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.ended = False
        self.lost: Exception | None = None
        self.news = asyncio.Event()
        self._pausing = pausing
        self._source: Side | None = None
        self._paused = False

    def begin(self, source: Side) -> None:
        self._source = source

    def add(self, data: bytes, *, complaint: bool) -> None:
        if complaint:
            self.stderr += data
            if self._pausing:
                del self.stderr[:-STDERR_TAIL]
        else:
            self.stdout += data
        if self._pausing and len(self.stdout) > PAUSE_BYTES and self._source:
            self._paused = True
            self._source.pause_reading()
        self.news.set()

    def end(self, lost: Exception | None) -> None:
        self.ended = True
        self.lost = lost
        self.news.set()

    def take(self) -> bytes:
        """All bytes of stdout not taken yet; the sender may go on."""
        chunk = bytes(self.stdout)
        self.stdout.clear()
        if self._paused and self._source:
            self._paused = False
            self._source.resume_reading()
        return chunk


class Chunks:
    """The iterator of one stream. A plain class: nothing is left to finalise when it is dropped.

    ``finish`` is asked once everything is read; it raises if the end was not a good one.
    """

    def __init__(
        self,
        heard: Heard,
        idle_s: float | None,
        explaining: Callable[[], AbstractContextManager[None]],
        finish: Callable[[], None],
    ) -> None:
        self._heard = heard
        self._idle_s = idle_s
        self._explaining = explaining
        self._finish = finish

    def __aiter__(self) -> Chunks:
        return self

    async def __anext__(self) -> bytes:
        heard = self._heard
        with self._explaining():
            async with asyncio.timeout(self._idle_s):
                while not heard.stdout and not heard.ended:
                    heard.news.clear()
                    await heard.news.wait()
            if heard.stdout:
                return heard.take()
            self._finish()
        raise StopAsyncIteration


def feed(channel: Side, stdin: bytes, *, end: bool) -> None:
    """Give a program its input; ``end`` says that this is all of it."""
    if not stdin:
        return
    try:
        channel.write(stdin)
        if end:
            channel.write_eof()
    except BrokenPipeError:
        pass  # it ended without reading; its exit status says what that means


async def close_channel(channel: Side, heard: Heard) -> None:
    """Close, and wait a moment, so that the node's session is free again when our slot is."""
    if heard.ended:
        return
    channel.close()
    try:
        await asyncio.wait_for(channel.wait_closed(), CLOSE_S)
    except TimeoutError:
        pass  # a dead or stuck node: keep-alive ends the connection, or the node its session
