"""Bytes in any chunks to lines with their positions, in bounded memory.

Every incremental reader stands on this: a log, and the records of a load driver.
"""

from dataclasses import dataclass
from typing import NamedTuple


class RawLine(NamedTuple):
    """One line without its newline. A tuple, since a log of 200 MB has a million of them.

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
        parts = data.split(b"\n")
        last = parts.pop()
        for part in parts:
            if self._tail or self._skipped or len(part) > self._limit:
                self._keep(part)
                lines.append(self._end(terminated=True))
                continue
            lines.append(RawLine(part, self._offset, self._line, True, False))
            self._offset += len(part) + 1
            self._line += 1
        self._keep(last)
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


def holds_any(raw: bytes, hints: tuple[str, ...]) -> bool:
    """Tell whether a line holds one of the ASCII texts.

    It is asked of every line: a text is searched four times sooner than bytes, and a loop is twice
    as fast as any().
    """
    text = raw.decode("latin-1")
    for hint in hints:  # noqa: SIM110 - see above
        if hint in text:
            return True
    return False
