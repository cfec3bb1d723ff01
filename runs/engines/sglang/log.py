"""The log of an SGLang server: bytes in, as they come, records out.

Any split of the bytes into chunks gives the same records. Memory is bounded whatever comes: of a
line longer than LINE_LIMIT only the beginning is kept.
"""

import re

from runs.engines.base import Damaged, Record
from runs.engines.feed import LineFeed, Position, RawLine
from runs.engines.redact import redact_text
from runs.engines.sglang.events import read_event
from runs.engines.sglang.lines import TEXT_LIMIT, read_batches

# The longest line seen is a dump of server arguments, 15 kB.
LINE_LIMIT = 64 * 1024
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")


class LogReader:
    """Reads one log from any position.

    `offset` is the byte offset of the line that is being read (of `tail`, when there is one) and
    `line` its number from 1; `skipped` counts bytes of that line beyond LINE_LIMIT. The next byte
    to be fed is the one at `position`.
    """

    def __init__(self, offset: int = 0, line: int = 1, tail: bytes = b"", skipped: int = 0) -> None:
        self._feed = LineFeed(Position(offset, line, tail, skipped), LINE_LIMIT)

    @classmethod
    def at(cls, state: Position) -> "LogReader":
        """Go on where another reader stopped."""
        return cls(state.offset, state.line, state.tail, state.skipped)

    @property
    def state(self) -> Position:
        return self._feed.position

    @property
    def offset(self) -> int:
        return self.state.offset

    @property
    def line(self) -> int:
        return self.state.line

    @property
    def tail(self) -> bytes:
        """The beginning of the line that has not ended yet."""
        return self.state.tail

    @property
    def position(self) -> int:
        """Byte offset of the next byte to be fed."""
        return self.state.next_byte

    def feed(self, data: bytes) -> list[Record]:
        """Take the next bytes and give the records of the lines that ended in them."""
        return [record for line in self._feed.push(data) for record in _records(line)]

    def finish(self) -> list[Record]:
        """Read what is left when no more will come; the last value of a cut line is unknown."""
        return [record for line in self._feed.rest() for record in _records(line)]


def _records(line: RawLine) -> list[Record]:
    if line.too_long:
        return [Damaged("line too long", _text(line.raw[:TEXT_LIMIT]), line.offset, line.line)]
    return read_line(line.raw, offset=line.offset, line=line.line, terminated=line.terminated)


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
