"""Two layers of a streamed answer as its bytes come in: the HTTP response, and its events.

Written to be cheap for what servers really send, one event in one chunk in one packet, and right
for every other way the same bytes may be cut.
"""

from __future__ import annotations

from typing import Dict, List, Optional

MAX_HEAD_BYTES = 64 * 1024
MAX_LINE_BYTES = 4 * 1024

_HEAD, _SIZE, _CHUNK, _AFTER_CHUNK, _TRAILER, _COUNTED, _UNTIL_CLOSE, _DONE = range(8)


class ProtocolError(Exception):
    """These bytes are no HTTP response."""


class Response:
    """One HTTP/1.x response. `feed` gives the body's bytes, `done` tells when it is complete."""

    __slots__ = ("_left", "_pending", "_state", "keep_alive", "status")

    def __init__(self) -> None:
        self.status: Optional[int] = None
        self.keep_alive = True  # may the connection carry another request after this one
        self._state = _HEAD
        self._pending = b""
        self._left = 0

    @property
    def done(self) -> bool:
        return self._state == _DONE

    @property
    def begun(self) -> bool:
        return self.status is not None or bool(self._pending)

    def feed(self, data: bytes) -> bytes:
        """The body's bytes among these. Raises ProtocolError."""
        if self._state == _SIZE and not self._pending:
            # One packet, one chunk: by far the commonest. What does not fit is done in full below.
            stop = data.find(b"\r\n", 0, 10)
            if stop > 0 and data.endswith(b"\r\n"):
                size = len(data) - stop - 4
                if size > 0 and data[:stop] == b"%x" % size:
                    return data[stop + 2 : -2]
        if self._pending:
            data = self._pending + data
            self._pending = b""
        if self._state == _HEAD:
            data = self._head(data)
        if _SIZE <= self._state <= _TRAILER:
            return self._chunked(data)
        if self._state == _COUNTED:
            return self._counted(data)
        if self._state == _UNTIL_CLOSE:
            return data
        if data and self._state == _DONE:
            self.keep_alive = False  # more than was asked for: the next answer could be mixed up
        return b""

    def close(self) -> bool:
        """The connection has ended. Whether the response was complete."""
        if self._state == _UNTIL_CLOSE:
            self._state = _DONE
        self.keep_alive = False
        return self._state == _DONE

    def _head(self, data: bytes) -> bytes:
        end = data.find(b"\r\n\r\n")
        if end < 0:
            if len(data) > MAX_HEAD_BYTES:
                raise ProtocolError("the header has no end")
            self._pending = data
            return b""
        rest = data[end + 4 :]
        fields = self._read_head(data[:end])
        if self.status is not None and 100 <= self.status < 200:
            self.status = None  # an interim answer: the real one follows
            return self._head(rest)
        self._choose_body(fields)
        return rest

    def _read_head(self, head: bytes) -> Dict[str, str]:
        lines = head.decode("latin-1").split("\r\n")
        words = lines[0].split(None, 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            raise ProtocolError("not an HTTP answer: {!r}".format(lines[0][:80]))
        self.status = int(words[1])
        fields: Dict[str, str] = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            fields[name.strip().lower()] = value.strip().lower()
        said = fields.get("connection", "")
        self.keep_alive = "close" not in said and (words[0] != "HTTP/1.0" or "keep-alive" in said)
        return fields

    def _choose_body(self, fields: Dict[str, str]) -> None:
        length = fields.get("content-length")
        if self.status in (204, 304):
            self._state = _DONE
        elif "chunked" in fields.get("transfer-encoding", ""):
            self._state = _SIZE
        elif length is None:
            self._state = _UNTIL_CLOSE
        elif not length.isdigit():
            raise ProtocolError("not a length: {!r}".format(length[:80]))
        else:
            self._left = int(length)
            self._state = _COUNTED if self._left else _DONE

    def _counted(self, data: bytes) -> bytes:
        body = data[: self._left]
        self._left -= len(body)
        if not self._left:
            self._state = _DONE
            if len(data) > len(body):
                self.keep_alive = False
        return body

    def _chunked(self, data: bytes) -> bytes:
        found: List[bytes] = []
        at = 0
        end = len(data)
        state = self._state
        while at < end:
            if state == _SIZE:
                stop = data.find(b"\r\n", at)
                if stop < 0:
                    break
                self._left = _chunk_size(data[at:stop])
                at = stop + 2
                state = _CHUNK if self._left else _TRAILER
            elif state == _CHUNK:
                piece = data[at : at + self._left]
                found.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if not self._left:
                    state = _AFTER_CHUNK
            elif state == _AFTER_CHUNK:
                if data.startswith(b"\r\n", at):
                    at += 2
                    state = _SIZE
                elif end - at >= 2 or data[at:end] != b"\r":
                    raise ProtocolError("a chunk does not end where it said")
                else:
                    break
            else:
                state, at = self._trailer(data, at)
                break
        self._state = state
        self._keep(data[at:])
        return found[0] if len(found) == 1 else b"".join(found)

    def _trailer(self, data: bytes, at: int) -> "tuple[int, int]":
        """The state and position after the lines that may follow the last chunk."""
        if data.startswith(b"\r\n", at):
            return _DONE, at + 2
        stop = data.find(b"\r\n\r\n", at)
        return (_TRAILER, at) if stop < 0 else (_DONE, stop + 4)

    def _keep(self, rest: bytes) -> None:
        if rest and self._state == _DONE:
            self.keep_alive = False
        elif len(rest) > MAX_LINE_BYTES:
            raise ProtocolError("a chunk's size line has no end")
        else:
            self._pending = rest


def _chunk_size(line: bytes) -> int:
    try:
        size = int(line.partition(b";")[0], 16)
    except ValueError:
        size = -1
    if size < 0:
        raise ProtocolError("not a chunk size: {!r}".format(line[:40]))
    return size


class Events:
    """Server-sent events of a body, each as its raw lines without the blank line at its end."""

    __slots__ = ("_tail",)

    def __init__(self) -> None:
        self._tail = b""

    def feed(self, body: bytes) -> List[bytes]:
        if self._tail:
            body = self._tail + body
        if b"\r" in body:
            # JSON never holds a raw CR; one at the very end may be half a line end.
            body = body.replace(b"\r\n", b"\n")
        events = body.split(b"\n\n")
        self._tail = events.pop()
        return events

    def finish(self) -> List[bytes]:
        """An event whose blank line never came, at the end of the body."""
        rest, self._tail = self._tail.strip(b"\r\n"), b""
        return [rest] if rest else []


def data_of(event: bytes) -> Optional[bytes]:
    """What the event carries; None for a comment or an event without data."""
    if event.startswith(b"data: ") and b"\n" not in event:
        return event[6:]
    lines = [line[5:] for line in event.split(b"\n") if line.startswith(b"data:")]
    if not lines:
        return None
    return b"\n".join(line[1:] if line.startswith(b" ") else line for line in lines)
