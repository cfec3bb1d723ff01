"""The log of an SGLang server: bytes in, as they come, records out.

Any split of the bytes into chunks gives the same records. Memory is bounded whatever comes: of a
line longer than LINE_LIMIT only the beginning is kept.
"""

import re

from runs.engines.base import Damaged, Record, Sample
from runs.engines.feed import LineFeed, Position, RawLine, holds_any
from runs.engines.redact import redact_text
from runs.engines.sglang.events import HINTS, read_event
from runs.engines.sglang.lines import TEXT_LIMIT, read_batches
from runs.engines.sglang.shapes import Shapes

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
        self._shapes = Shapes()

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
        return self._read(self._feed.push(data))

    def finish(self) -> list[Record]:
        """Read what is left when no more will come; the last value of a cut line is unknown."""
        return self._read(self._feed.rest())

    def _read(self, lines: list[RawLine]) -> list[Record]:
        records: list[Record] = []
        for raw, offset, line, terminated, too_long in lines:
            if too_long:
                records.append(too_long_line(raw, offset, line))
            elif may_tell(raw):
                records += read_line(raw, offset, line, terminated, self._shapes)
        return records


def too_long_line(raw: bytes, offset: int, line: int) -> Damaged:
    """Give what stands for a line of which only the beginning was kept."""
    return Damaged("line too long", _text(raw[:TEXT_LIMIT]), offset, line)


def may_tell(raw: bytes) -> bool:
    """Tell cheaply that a line holds no record: most lines of a log are somebody's requests."""
    if b" batch" in raw:
        return True
    if raw.endswith(b" OK") and b" HTTP/1" in raw:
        return False
    return holds_any(raw, HINTS)


def read_line(
    raw: bytes, offset: int, line: int, terminated: bool = True, shapes: Shapes | None = None
) -> list[Record]:
    """Read one line given without its newline: its batch records, else its event, else nothing.

    `shapes` are those of the same log; with them most lines are read the quick way.
    """
    if b" batch" in raw:
        if shapes is not None and terminated and raw.startswith(b"[") and raw.isascii():
            quick = _quick(raw, offset, line, shapes)
            if quick is not None:
                return quick
        records: list[Record] = []
        records += _batches(raw, offset, line, terminated)
        if records:
            return records
    event = read_event(decoded(raw), offset=offset, line=line, terminated=terminated)
    return [] if event is None else [event]


def _quick(raw: bytes, offset: int, line: int, shapes: Shapes) -> list[Record] | None:
    """Read a line of a known shape, or learn the shape of one that stands alone in its line."""
    text = raw.decode("ascii")
    sample = shapes.read(text, offset, line)
    if sample is not None:
        return [sample]
    if any(sign in raw for sign in (b"\r", b"\x1b", b"\0")):
        return None
    records: list[Record] = []
    records += read_batches(text, offset=offset, line=line, terminated=True)
    if len(records) == 1 and isinstance(records[0], Sample):
        shapes.learn(text, records[0])
    return records or None


def _batches(raw: bytes, offset: int, line: int, terminated: bool) -> list[Record]:
    """Read the parts between carriage returns each for itself: one writer overwrote another."""
    records: list[Record] = []
    parts = raw.rstrip(b"\r").split(b"\r")
    for index, part in enumerate(parts):
        if b" batch" in part:
            ended = terminated and index + 1 == len(parts)
            records += read_batches(decoded(part), offset=offset, line=line, terminated=ended)
        offset += len(part) + 1
    return records


def decoded(raw: bytes) -> str:
    """Give text without NUL (no database takes it) and without colours."""
    text = raw.decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return text.replace("\x00", "\ufffd")


def _text(raw: bytes) -> str:
    return redact_text(decoded(raw))
