"""A server for load tests that answers each request as its script says."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from . import recorded

# What a script yields: bytes to send, seconds to wait, or CLOSE.
Step = bytes | float | None
CLOSE = None
Script = Callable[["Asked"], Iterator[Step]]


@dataclass(frozen=True)
class Asked:
    n: int  # in order of arrival over all connections
    path: str
    body: dict[str, Any]


@dataclass
class Seen:
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    now: int = 0  # requests being answered
    most: int = 0


class Scripted:
    def __init__(self, script: Script) -> None:
        self.script = script
        self.seen = Seen()
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.threads = [threading.Thread(target=self._accept)]
        self.socks: list[socket.socket] = []
        self.threads[0].start()

    def die(self) -> None:
        """Like a killed process: nobody listens, and every connection is cut."""
        self.over.set()
        with self.lock:
            for sock in [self.listener, *self.socks]:
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # not connected any more
            self.listener.close()

    def close(self) -> None:
        self.die()
        for thread in self.threads:
            thread.join(10)
        for sock in self.socks:
            sock.close()

    def _accept(self) -> None:
        while not self.over.is_set():
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.seen.connections += 1
                self.socks.append(sock)
                thread = threading.Thread(target=self._serve, args=[sock])
                self.threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            with sock.makefile("rb") as reader:
                while (asked := self._read(reader)) and self._answer(sock, asked):
                    pass
        except OSError:
            pass  # the client is gone, or this server died
        finally:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # cut already
            sock.close()

    def _read(self, reader: Any) -> Asked | None:
        first = reader.readline()
        if not first:
            return None
        length = 0
        while line := reader.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        body = json.loads(reader.read(length) or b"{}")
        with self.lock:
            asked = Asked(len(self.seen.asked), first.split()[1].decode(), body)
            self.seen.asked.append(asked)
            self.seen.now += 1
            self.seen.most = max(self.seen.most, self.seen.now)
        return asked

    def _answer(self, sock: socket.socket, asked: Asked) -> bool:
        try:
            for step in self.script(asked):
                if step is None:
                    return False
                if isinstance(step, bytes):
                    sock.sendall(step)
                elif self.over.wait(step):
                    return False
            return True
        finally:
            with self.lock:
                self.seen.now -= 1


@contextmanager
def serving(script: Script) -> Iterator[Scripted]:
    server = Scripted(script)
    try:
        yield server
    finally:
        server.close()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def event(value: Any) -> bytes:
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return recorded.chunk(b"data: " + text.encode() + b"\n\n")


def chat(content: str | None, finish: str | None = None, **delta: Any) -> bytes:
    inner = {**({} if content is None else {"content": content}), **delta}
    return event({"choices": [{"index": 0, "delta": inner, "finish_reason": finish}]})


def usage(output: int, prompt: int = 20, cached: int | None = None) -> bytes:
    details = None if cached is None else {"cached_tokens": cached}
    counts = {"prompt_tokens": prompt, "completion_tokens": output}
    return event({"choices": [], "usage": {**counts, "prompt_tokens_details": details}})


DONE = event("[DONE]")


def answer(tokens: int = 8, per_chunk: int = 4, gap_s: float = 0.0) -> Iterator[Step]:
    """A good answer under speculation: several tokens a chunk."""
    yield HEAD + chat("", role="assistant")
    for _ in range(tokens // per_chunk):
        if gap_s:
            yield gap_s
        yield chat(" word" * per_chunk)
    yield chat(None, "length") + usage(tokens)
    yield DONE + END
