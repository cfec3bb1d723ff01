"""What a channel said is kept within bounds, and a stream ends in one of three ways."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from hosts.transport import heard as module
from hosts.transport.heard import PAUSE_BYTES, STDERR_TAIL, Chunks, Heard, close_channel, feed


class Source:
    """Our side of a channel: records what it is told; its other side may be gone."""

    def __init__(self, *, broken: bool = False) -> None:
        self.said: list[str] = []
        self.broken = broken

    def write(self, data: bytes) -> None:
        if self.broken:
            raise BrokenPipeError
        self.said.append(data.decode())

    def write_eof(self) -> None:
        self.said.append("eof")

    def close(self) -> None:
        self.said.append("close")

    async def wait_closed(self) -> None:
        if self.broken:
            await asyncio.Event().wait()

    def pause_reading(self) -> None:
        self.said.append("pause")

    def resume_reading(self) -> None:
        self.said.append("resume")


def chunks(heard: Heard, idle_s: float | None = 1.0, finish: BaseException | None = None) -> Chunks:
    def end() -> None:
        if finish is not None:
            raise finish

    return Chunks(heard, idle_s, contextlib.nullcontext, end)


def test_a_slow_reader_makes_the_sender_wait_until_it_has_read() -> None:
    heard, source = Heard(pausing=True), Source()
    heard.begin(source)
    heard.add(b"x" * (PAUSE_BYTES + 1), complaint=False)
    assert source.said == ["pause"]
    assert len(heard.take()) == PAUSE_BYTES + 1
    assert source.said == ["pause", "resume"]


def test_only_the_last_complaints_of_a_stream_are_kept() -> None:
    heard = Heard(pausing=True)
    heard.add(b"a" * STDERR_TAIL, complaint=True)
    heard.add(b"the end", complaint=True)
    assert len(heard.stderr) == STDERR_TAIL
    assert heard.stderr.endswith(b"the end")


async def test_it_gives_the_last_bytes_before_the_error() -> None:
    heard = Heard(pausing=True)
    heard.add(b"last words", complaint=False)
    heard.end(ConnectionResetError())
    stream = chunks(heard, finish=RuntimeError("lost"))
    assert await anext(stream) == b"last words"
    with pytest.raises(RuntimeError, match="lost"):
        await anext(stream)


async def test_it_ends_quietly_after_a_good_end() -> None:
    heard = Heard(pausing=True)
    heard.add(b"all", complaint=False)
    heard.end(None)
    assert [chunk async for chunk in chunks(heard)] == [b"all"]


async def test_silence_beyond_the_idle_limit_is_a_time_out() -> None:
    with pytest.raises(TimeoutError):
        await anext(chunks(Heard(pausing=True), idle_s=0.01))


def test_input_that_nobody_reads_is_no_error() -> None:
    feed(Source(broken=True), b"x", end=True)


def test_input_ends_only_when_it_should() -> None:
    source = Source()
    feed(source, b"open", end=False)
    feed(source, b"shut", end=True)
    assert source.said == ["open", "shut", "eof"]


async def test_closing_waits_only_a_moment_for_a_node_that_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CLOSE_S", 0.01)
    source = Source(broken=True)
    await close_channel(source, Heard(pausing=False))
    assert source.said == ["close"]
