"""Records that a terminal folded over several lines, put together again.

A line that begins something of its own is held; lines after it that begin nothing may be its rest,
as long as the parts before them fill one and the same width. The whole counts only when it is one
clean record, so a line that was really cut stays cut.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from runs.engines.base import Event, Record, Sample
from runs.engines.feed import RawLine
from runs.engines.sglang.labels import INTERVAL_FIELDS, LABELS
from runs.readers.carriers import Carried

# A record over more lines than this was copied from a screen narrower than any in use.
MAX_LINES = 16
_MIN_WIDTH = 20
_KNOWN = {*(label.field for label in LABELS.values()), *INTERVAL_FIELDS, "iteration"}
# A stamp, a level, a process tag: what an engine's line begins with.
_LOG_START = re.compile(
    rb"\[[0-9]{2,4}[-:/]|(?:INFO|WARN|WARNING|ERROR|DEBUG)\b[ :]"
    rb"|\([A-Za-z]\w{0,40} (?:rank=[0-9]{1,5} )?pid="
)
# What else begins a line of its own: a heading, a rule, a command, dots, a traceback, the journal.
_OWN_START = re.compile(
    rb"\s*\Z|#{1,6} |\$ |>|```|[=\-*_]{4}|\.{3}|\s{0,8}File \"|Traceback "
    rb"|[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:"
)


def may_begin(message: bytes) -> bool:
    """Tell whether a record can begin in this line and go on in the next."""
    return len(message) >= _MIN_WIDTH and _LOG_START.match(message) is not None


def is_whole(record: Record) -> bool:
    """Tell whether nothing of the record is missing or unknown to us."""
    if isinstance(record, Event):
        return record.kind == "server_args" and bool(record.data)
    if not isinstance(record, Sample) or "unread" in record.extras:
        return False
    if record.phase in ("decode", "prefill"):
        return record.waiting is not None and record.extras.keys() <= _KNOWN
    if record.phase == "interval":
        return record.token_usage is not None
    return record.phase == "iteration" or record.accept_rate is not None


class Wrapped:
    """The beginning of a record, and the lines that may be its rest.

    `known_width` is that of an earlier fold in the same text, None before there was one.
    """

    def __init__(self, message: bytes, records: Sequence[Record], known_width: int | None) -> None:
        self.rest: list[tuple[RawLine, Carried]] = []
        self._parts = [message]
        self._known_width = known_width
        self._whole = bool(records) and all(map(is_whole, records))
        self._closed = self._whole and any(isinstance(each, Event) for each in records)

    @property
    def width(self) -> int:
        return max(map(len, self._parts[:-1] or self._parts))

    @property
    def ended(self) -> bool:
        """A part that does not fill the width is the last one."""
        return len(self._parts) > 1 and len(self._parts[-1]) < self.width - 1

    def take(self, line: RawLine, carried: Carried) -> bool:
        """Take the next line if it can be the next part."""
        message = carried.message
        if len(self._parts) >= MAX_LINES or _LOG_START.match(message) or _OWN_START.match(message):
            return False
        width = max(map(len, self._parts))
        # The first part itself may have lost a blank at its end.
        if len(message) > width + 1 or any(len(part) < width - 1 for part in self._parts):
            return False
        self.rest.append((line, carried))
        self._parts.append(message)
        return True

    def read(self, reader: Callable[[bytes], list[Record]]) -> list[Record] | None:
        """Give the records of all parts together, None when they are not whole.

        A fold adds nothing; a copy can lose the blank that stood at it.
        """
        if self._closed:
            return None
        labelled = any(b": " in part for part in self._parts[1:])
        if self._whole and self.width != self._known_width and not labelled:
            return None  # a whole record goes on with a label or not at all
        for glue in (b"", b" "):
            records = reader(self._joined(glue))
            if records and all(map(is_whole, records)):
                return records
        return None

    def _joined(self, glue: bytes) -> bytes:
        joined = self._parts[0]
        for before, part in pairwise(self._parts):
            joined += (b" " if len(before) < self.width else glue) + part
        return joined
