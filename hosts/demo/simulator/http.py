"""A small HTTP/1.1 server on asyncio: keep-alive, bodies by length, chunked responses."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from typing import Awaitable, Callable

MOST_HEAD_BYTES = 65536
MOST_BODY_BYTES = 32 * 1024 * 1024
IDLE_S = 75.0  # a kept-alive connection without a request is closed after this


@dataclass(frozen=True)
class HttpRequest:
    """One request; header names are lower case, the body is raw bytes."""

    method: str
    target: str
    path: str
    headers: dict[str, str]
    body: bytes
    client: str
    keep_alive: bool


class BadRequest(Exception):
    """Bytes that are not HTTP, or too many of them."""


class Exchange:
    """The answer to one request, whole or in chunks."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.status: int | None = None

    @property
    def alive(self) -> bool:
        """False once the client has closed its side."""
        return not (self._writer.transport.is_closing() or self._reader.at_eof())

    def respond(self, status: int, body: bytes, content_type: str) -> None:
        """The whole answer at once; an empty content type leaves the header out."""
        self.status = status
        head = _head(status) + f"content-length: {len(body)}\r\n"
        if content_type:
            head += f"content-type: {content_type}\r\n"
        self._writer.write((head + "vary: Origin\r\n\r\n").encode("latin-1") + body)

    def start_stream(self, content_type: str) -> None:
        self.status = 200
        head = _head(200) + f"content-type: {content_type}\r\nvary: Origin\r\n"
        self._writer.write((head + "Transfer-Encoding: chunked\r\n\r\n").encode("latin-1"))

    def send(self, data: bytes) -> None:
        """One chunk; a client that is gone is noticed by `alive`."""
        if data and not self._writer.transport.is_closing():
            self._writer.write(b"%x\r\n%b\r\n" % (len(data), data))

    def end_stream(self) -> None:
        if not self._writer.transport.is_closing():
            self._writer.write(b"0\r\n\r\n")

    async def drain(self) -> None:
        await self._writer.drain()


Handler = Callable[[HttpRequest, Exchange], Awaitable[None]]


def _head(status: int) -> str:
    phrase = HTTPStatus(status).phrase
    date = formatdate(usegmt=True)
    return f"HTTP/1.1 {status} {phrase}\r\ndate: {date}\r\nserver: uvicorn\r\n"


async def serve(handler: Handler, host: str, port: int) -> asyncio.base_events.Server:
    """Listen; OSError with errno EADDRINUSE if the port is taken."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _converse(handler, reader, writer)
        except (ConnectionError, asyncio.TimeoutError, asyncio.IncompleteReadError):
            pass  # the client left or fell silent; nothing to tell it
        finally:
            writer.close()

    return await asyncio.start_server(connected, host, port, limit=MOST_HEAD_BYTES, backlog=512)


async def _converse(
    handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    peer = writer.get_extra_info("peername") or ("?", 0)
    client = f"{peer[0]}:{peer[1]}"
    while True:
        exchange = Exchange(reader, writer)
        try:
            request = await read_request(reader, writer, client)
        except BadRequest as problem:
            exchange.respond(400, str(problem).encode(), "text/plain; charset=utf-8")
            await exchange.drain()
            return
        if request is None:
            return
        await handler(request, exchange)
        await exchange.drain()
        if not request.keep_alive:
            return


async def read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: str
) -> HttpRequest | None:
    """The next request of a connection; None at its end."""
    try:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), IDLE_S)
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError:
        raise BadRequest("Request head too large.") from None
    line, _, rest = head.decode("latin-1").partition("\r\n")
    words = line.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequest("Invalid HTTP request received.")
    headers = _headers(rest)
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = await reader.readexactly(_body_length(headers))
    closing = headers.get("connection", "").lower() == "close" or words[2] == "HTTP/1.0"
    path = words[1].partition("?")[0]
    return HttpRequest(words[0], words[1], path, headers, body, client, not closing)


def _headers(text: str) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in text.split("\r\n"):
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    return headers


def _body_length(headers: dict[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise BadRequest("Chunked request bodies are not supported by the simulated engine.")
    text = headers.get("content-length", "0")
    if not text.isdigit() or int(text) > MOST_BODY_BYTES:
        raise BadRequest("Invalid content-length.")
    return int(text)
