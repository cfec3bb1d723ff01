"""Marks in the copy of a log that somebody else writes: where it may not be whole, and why.

The node kit copies a unit's journal, a foreign file or a container's log, and writes a line of its
own into the copy wherever a reader has to know something (`hosts/nodekit/spool.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from runs.engines.base import Event, Record
from runs.engines.engine import LogReader
from runs.engines.redact import redact_text

MARK = b"\x1ethroughline "
_LINE = re.compile(rb"^" + MARK + rb"(\{.*\})$", re.M)
# kinds of the node kit, and what they are called here
KINDS = {
    "gap": "log-gap",
    "rotated": "log-rotated",
    "late": "log-late",
    "restarted": "server-restarted",
}


class MarkedReader:
    """An engine's reader that gives the marks as events, too. Fed whole lines, as all readers."""

    def __init__(self, inner: LogReader, offset: int, lines: int) -> None:
        self._inner = inner
        self._offset = offset
        self._lines = lines

    def feed(self, data: bytes) -> Sequence[Record]:
        records = [*self._inner.feed(data)]
        if MARK in data:
            marks = [self._event(found, data) for found in _LINE.finditer(data)]
            records += [mark for mark in marks if mark is not None]
        self._offset += len(data)
        self._lines += data.count(b"\n")
        return records

    def finish(self) -> Sequence[Record]:
        return self._inner.finish()

    def _event(self, found: re.Match[bytes], data: bytes) -> Event | None:
        try:
            told = json.loads(found.group(1))
            kind, text = KINDS[told.pop("kind")], str(told.pop("text"))
        except (ValueError, KeyError, AttributeError):
            return None
        line = self._lines + data.count(b"\n", 0, found.start()) + 1
        return Event(kind, None, redact_text(text), told, self._offset + found.start(), line)


def marked(reader: Callable[[int, int], LogReader]) -> Callable[[int, int], MarkedReader]:
    """The same maker of readers, for logs with marks."""
    return lambda offset, lines: MarkedReader(reader(offset, lines), offset, lines)
