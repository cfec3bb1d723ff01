"""A server that streams one token per chunk at an exactly known rate, for measuring clients.

    python -m benchmarks.mock_server --tick 0.02 --slots 1 --tokens 64

Time runs in ticks, as in an engine: at each one every stream gets its next token, so `n` streams
make n / tick tokens per second. A request joins at the first tick after it came; a client that
sends its next request within one tick therefore loses nothing. With --slots S the streams are
spread over S moments of the tick instead of coming in one burst. Prints its port as one JSON line.
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import time
from dataclasses import dataclass, field

HEAD = (
    b"HTTP/1.1 200 OK\r\ndate: Sun, 29 Nov 2026 17:31:35 GMT\r\nserver: uvicorn\r\n"
    b"content-type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
)
ID = "c0a528ceb39548839899f638e8fd0e4d"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _event(choices: list[dict[str, object]], **more: object) -> bytes:
    value = {
        "id": ID,
        "object": "chat.completion.chunk",
        "created": 1795973495,
        "model": "mock",
        "choices": choices,
        **more,
    }
    return _chunk(b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n")


def _choice(delta: dict[str, object], finish: str | None = None) -> list[dict[str, object]]:
    rest = {"logprobs": None, "finish_reason": finish, "matched_stop": None}
    return [{"index": 0, "delta": {"reasoning_content": None, **delta}, **rest}]


ROLE = HEAD + _event(_choice({"role": "assistant", "content": ""}))
TOKEN = _event(_choice({"content": " word"}))
FINISH = _event(_choice({}, "length"))
DONE = _chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"


def usage(tokens: int) -> bytes:
    told = {"prompt_tokens": 20, "total_tokens": 20 + tokens, "completion_tokens": tokens}
    return _event([], usage={**told, "prompt_tokens_details": None, "reasoning_tokens": 0})


def response_length(tokens: int) -> int:
    """The bytes of one whole answer."""
    return len(ROLE) + tokens * len(TOKEN) + len(FINISH) + len(usage(tokens)) + len(DONE)


@dataclass
class Stream:
    sock: socket.socket
    slot: int
    received: bytes = b""
    left: int = 0  # tokens still to come; 0: no request is being answered


@dataclass
class Served:
    """What the server itself knows to be true."""

    tokens: int = 0
    first: float | None = None
    last: float | None = None
    late: float = 0.0  # the latest a tick ever was, seconds


@dataclass
class Mock:
    tick: float
    slots: int
    tokens: int
    streams: dict[int, Stream] = field(default_factory=dict)
    served: Served = field(default_factory=Served)
    joined: int = 0

    def serve(self) -> None:
        listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        listener.setblocking(False)
        print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
        poll = select.epoll()
        poll.register(listener, select.EPOLLIN)
        step = self.tick / self.slots
        begun = time.monotonic()
        number = 0
        while True:
            number += 1
            due = begun + number * step
            while True:
                # epoll counts whole milliseconds and rounds up; the rest is slept exactly.
                for fd, _ in poll.poll(max(0.0, due - time.monotonic() - 0.001)):
                    self._readable(fd, listener, poll)
                if (left := due - time.monotonic()) < 0.0015:
                    break
            time.sleep(max(0.0, left))
            self._advance(number % self.slots, due)

    def _readable(self, fd: int, listener: socket.socket, poll: select.epoll) -> None:
        if fd != listener.fileno():
            self._read(self.streams[fd])
            return
        sock, _ = listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        poll.register(sock, select.EPOLLIN)
        self.streams[sock.fileno()] = Stream(sock, self.joined % self.slots)
        self.joined += 1

    def _read(self, stream: Stream) -> None:
        try:
            data = stream.sock.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            del self.streams[stream.sock.fileno()]
            stream.sock.close()
            return
        stream.received += data
        if self._request_is_whole(stream.received):
            asked, stream.received = stream.received, b""
            self._answer(stream, asked)

    @staticmethod
    def _request_is_whole(data: bytes) -> bool:
        head, found, body = data.partition(b"\r\n\r\n")
        length = 0
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return bool(found) and len(body) >= length

    def _answer(self, stream: Stream, asked: bytes) -> None:
        if asked.startswith(b"GET /served"):
            body = json.dumps(vars(self.served)).encode()
            self.served = Served()
            stream.sock.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            return
        stream.left = self.tokens
        stream.sock.sendall(ROLE)

    def _advance(self, slot: int, due: float) -> None:
        now = time.monotonic()
        busy = [s for s in self.streams.values() if s.left and s.slot == slot]
        for stream in busy:
            self._send_token(stream)
        if busy:
            served = self.served
            served.tokens += len(busy)
            served.first = now if served.first is None else served.first
            served.last = now
            served.late = max(served.late, now - due)

    def _send_token(self, stream: Stream) -> None:
        stream.left -= 1
        try:
            stream.sock.send(TOKEN)
            if not stream.left:
                for part in (FINISH, usage(self.tokens), DONE):
                    stream.sock.send(part)
        except OSError:
            stream.left = 0  # the client is gone; reading from it will tell


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tick", type=float, default=0.02, help="seconds from token to token")
    parser.add_argument("--slots", type=int, default=1, help="moments of a tick to spread over")
    parser.add_argument("--tokens", type=int, default=64, help="tokens of each answer")
    arguments = parser.parse_args()
    Mock(arguments.tick, arguments.slots, arguments.tokens).serve()


if __name__ == "__main__":
    main()
