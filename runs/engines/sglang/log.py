"""The log of an SGLang server: bytes in, as they come, records out.

Any split of the bytes into chunks gives the same records. Memory is bounded whatever comes: of a
line longer than LINE_LIMIT only the beginning is kept.
"""

import re
from dataclasses import dataclass

from runs.engines.base import Damaged, Event, Record
from runs.engines.redact import redact_text
from runs.engines.sglang.events import read_event
from runs.engines.sglang.lines import TEXT_LIMIT, read_batches

# The longest line seen is a dump of server arguments, 15 kB.
LINE_LIMIT = 64 * 1024
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Position:
    """All a reader has to remember: where its unfinished line begins, and what it has of it.

    `skipped` counts bytes of that line that were dropped beyond LINE_LIMIT.
    """

    offset: int
    line: int
    tail: bytes
    skipped: int


class LogReader:
    """Reads one log from any position.

    `offset` is the byte offset of the line that is being read (of `tail`, when there is one) and
    `line` its number from 1. The next byte to be fed is the one at `position`.
    """

    def __init__(self, offset: int = 0, line: int = 1, tail: bytes = b"", skipped: int = 0) -> None:
        self.offset = offset
        self.line = line
        self.skipped = skipped
        self._tail = bytearray(tail)

    @classmethod
    def at(cls, position: Position) -> "LogReader":
        """Go on where another reader stopped."""
        return cls(position.offset, position.line, position.tail, position.skipped)

    @property
    def tail(self) -> bytes:
        """The beginning of the line that has not ended yet."""
        return bytes(self._tail)

    @property
    def position(self) -> int:
        """Byte offset of the next byte to be fed."""
        return self.offset + len(self._tail) + self.skipped

    @property
    def state(self) -> Position:
        return Position(self.offset, self.line, self.tail, self.skipped)

    def feed(self, data: bytes) -> list[Record]:
        """Take the next bytes and give the records of the lines that ended in them."""
        records: list[Record] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._keep(data[start:end])
            records += self._end_line(terminated=True)
            start = end + 1
        self._keep(data[start:])
        return records

    def finish(self) -> list[Record]:
        """Read what is left when no more will come; the last value of a cut line is unknown."""
        if not self._tail and not self.skipped:
            return []
        return self._end_line(terminated=False)

    def _keep(self, part: bytes) -> None:
        taken = part[: LINE_LIMIT - len(self._tail)]
        self._tail += taken
        self.skipped += len(part) - len(taken)

    def _end_line(self, *, terminated: bool) -> list[Record]:
        raw, offset, line = bytes(self._tail), self.offset, self.line
        too_long = self.skipped > 0
        self.offset = self.position + (1 if terminated else 0)
        self.line += 1
        self._tail.clear()
        self.skipped = 0
        if too_long:
            return [Damaged("line too long", _text(raw[:TEXT_LIMIT]), offset, line)]
        return read_line(raw, offset=offset, line=line, terminated=terminated)


def read_line(raw: bytes, *, offset: int, line: int, terminated: bool = True) -> list[Record]:
    """Read one line given without its newline: its batch records, else its event, else nothing."""
    if b" batch" in raw:
        records: list[Record] = []
        records += _batches(raw, offset, line, terminated)
        if records:
            return records
    event = read_event(_decoded(raw), offset=offset, line=line, terminated=terminated)
    return [] if event is None else [event]


def _batches(raw: bytes, offset: int, line: int, terminated: bool) -> list[Record]:
    """Read the parts between carriage returns each for itself: one writer overwrote another."""
    records: list[Record] = []
    parts = raw.rstrip(b"\r").split(b"\r")
    for index, part in enumerate(parts):
        if b" batch" in part:
            ended = terminated and index + 1 == len(parts)
            records += read_batches(_decoded(part), offset=offset, line=line, terminated=ended)
        offset += len(part) + 1
    return records


def _decoded(raw: bytes) -> str:
    """Give text without NUL (no database takes it) and without colours."""
    text = raw.decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return text.replace("\x00", "\ufffd")


def _text(raw: bytes) -> str:
    return redact_text(_decoded(raw))


__all__ = ["LINE_LIMIT", "Event", "LogReader", "Position", "read_line"]
