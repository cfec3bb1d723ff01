"""Bytes in any chunks to lines with their positions, in bounded memory.

Every incremental reader stands on this: a log, and the records of a load driver.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RawLine:
    """One line without its newline.

    `terminated` says whether the newline came. `too_long` says that only the beginning was kept.
    """

    raw: bytes
    offset: int
    line: int
    terminated: bool
    too_long: bool


@dataclass(frozen=True, slots=True)
class Position:
    """All a reader has to remember: where its unfinished line begins, and what it has of it.

    `skipped` counts bytes of that line that were dropped beyond the limit.
    """

    offset: int
    line: int
    tail: bytes
    skipped: int

    @property
    def next_byte(self) -> int:
        """Byte offset of the next byte to be fed."""
        return self.offset + len(self.tail) + self.skipped


class LineFeed:
    """Splits a stream at newlines. Of a line longer than `limit` bytes only so many are kept."""

    def __init__(self, position: Position, limit: int) -> None:
        self._offset = position.offset
        self._line = position.line
        self._tail = bytearray(position.tail)
        self._skipped = position.skipped
        self._limit = limit

    @property
    def position(self) -> Position:
        return Position(self._offset, self._line, bytes(self._tail), self._skipped)

    def push(self, data: bytes) -> list[RawLine]:
        """Take the next bytes, give the lines that ended in them."""
        lines: list[RawLine] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._keep(data[start:end])
            lines.append(self._end(terminated=True))
            start = end + 1
        self._keep(data[start:])
        return lines

    def rest(self) -> list[RawLine]:
        """Give the last line when no newline will come for it."""
        return [self._end(terminated=False)] if self._tail or self._skipped else []

    def _keep(self, part: bytes) -> None:
        taken = part[: self._limit - len(self._tail)]
        self._tail += taken
        self._skipped += len(part) - len(taken)

    def _end(self, *, terminated: bool) -> RawLine:
        ended = RawLine(
            bytes(self._tail), self._offset, self._line, terminated, too_long=self._skipped > 0
        )
        self._offset += len(self._tail) + self._skipped + (1 if terminated else 0)
        self._line += 1
        self._tail.clear()
        self._skipped = 0
        return ended
