"""Where generated tokens go: a stream of frames, or one answer at the end."""

from __future__ import annotations

import asyncio

from . import answers
from .answers import Style
from .http import Exchange
from .text import TokenStream


class WholeSink:
    """Counts tokens until the end; `done` then holds the reason."""

    def __init__(self, exchange: Exchange | None) -> None:
        self.tokens = 0
        self.done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._exchange = exchange

    def push(self, tokens: int) -> None:
        self.tokens += tokens

    def flush(self, finish: str | None) -> None:
        if finish is not None and not self.done.done():
            self.done.set_result(finish)

    def alive(self) -> bool:
        """A request of a client that left, or that nobody waits for, is dropped."""
        if self._exchange is not None and not self._exchange.alive and not self.done.done():
            self.done.set_result("abort")
        return not self.done.cancelled() and (self._exchange is None or self._exchange.alive)


class StreamSink:
    """Writes frames straight into the connection: one write for all tokens of a flush."""

    def __init__(
        self,
        exchange: Exchange,
        style: Style,
        source: TokenStream,
        prompt_tokens: int,
        cached_tokens: int,
        include_usage: bool,
    ) -> None:
        self.done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._exchange = exchange
        self._style = style
        self._source = source
        self._prompt_tokens = prompt_tokens
        self._cached_tokens = cached_tokens
        self._include_usage = include_usage
        self._pending = 0
        self._sent = 0

    def push(self, tokens: int) -> None:
        self._pending += tokens

    def flush(self, finish: str | None) -> None:
        if self.done.done():
            return
        frames = b"" if self._sent else self._style.role()
        if self._pending:
            frames += self._style.tokens(self._source.take(self._pending), finish)
            self._sent += self._pending
            self._pending = 0
        elif finish is not None and not self._style.chat:
            frames += self._style.tokens("", finish)
        if finish is None:
            self._exchange.send(frames)
            return
        self._exchange.send(frames + self._ending(finish))
        self._exchange.end_stream()
        self.done.set_result(finish)

    def _ending(self, finish: str) -> bytes:
        frames = self._style.finish(finish)
        if self._include_usage:
            counts = answers.usage(self._prompt_tokens, self._sent, self._cached_tokens)
            frames += self._style.usage_frame(counts)
        return frames + answers.DONE

    def alive(self) -> bool:
        if self._exchange.alive:
            return True
        if not self.done.done():
            self.done.set_result("abort")
        return False
