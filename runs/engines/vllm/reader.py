"""The log of a vLLM server: bytes in, as they come, records out."""

from __future__ import annotations

from runs.engines.base import Record
from runs.engines.feed import LineFeed, Position, RawLine, holds_any
from runs.engines.sglang.log import LINE_LIMIT, decoded, too_long_line
from runs.engines.vllm.log import HINTS, read_line


class LogReader:
    """Reads one log from any position; any split of the bytes gives the same records."""

    def __init__(self, offset: int = 0, line: int = 1) -> None:
        self._feed = LineFeed(Position(offset, line, b"", 0), LINE_LIMIT)

    def feed(self, data: bytes) -> list[Record]:
        """Take the next bytes and give the records of the lines that ended in them."""
        return self._read(self._feed.push(data))

    def finish(self) -> list[Record]:
        """Read what is left when no more will come."""
        return self._read(self._feed.rest())

    def _read(self, lines: list[RawLine]) -> list[Record]:
        records: list[Record] = []
        for raw, offset, line, terminated, too_long in lines:
            if too_long:
                records.append(too_long_line(raw, offset, line))
            elif holds_any(raw, HINTS):
                records += read_line(decoded(raw), offset, line, terminated)
        return records
