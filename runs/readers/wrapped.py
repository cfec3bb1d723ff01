"""Records that a terminal folded over several lines, put together again.

A line whose record stops short is held; the lines after it may be the rest. They are taken as such
only when the whole, put together, is one clean record, so a line that was really cut stays cut.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from runs.engines.base import Damaged, Record, Sample
from runs.engines.feed import RawLine
from runs.engines.sglang.labels import INTERVAL_FIELDS
from runs.engines.sglang.labels import LABELS as SGLANG
from runs.engines.vllm.labels import LABELS as VLLM
from runs.readers.carriers import Carried

# A record over more lines than this was copied from a screen narrower than any in use.
MAX_LINES = 12
_MIN_WIDTH = 20
_KNOWN = {
    *(label.field for label in SGLANG.values()),
    *(label.field for label in VLLM.values()),
    *INTERVAL_FIELDS,
    "iteration",
}
# What begins a line of its own: a stamp, a level, a process tag, a heading, a rule, a quote.
_OWN_START = re.compile(
    rb"\s*\Z|\[[0-9]{2,4}[-:/]|(?:INFO|WARN|WARNING|ERROR|DEBUG)\b[ :]"
    rb"|\([A-Za-z]\w{0,40} pid=|[#=>$`][#=> ]"
    rb"|[=\-*_]{4}|\.{3}|File \"|Traceback |[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:"
)


def starts_own(message: bytes) -> bool:
    """Tell whether a line begins something of its own, so that it continues nothing."""
    return _OWN_START.match(message) is not None


def may_fold(records: Sequence[Record]) -> bool:
    """Tell whether the line that gave these records can be the beginning of a folded one."""
    return len(records) == 1 and isinstance(records[0], Sample | Damaged)


def _is_whole(record: Record) -> bool:
    """Tell whether nothing of the record is missing or unknown to us."""
    if not isinstance(record, Sample) or not record.extras.keys() <= _KNOWN:
        return False
    return record.phase not in ("decode", "prefill") or record.waiting is not None


class Wrapped:
    """The beginning of a record, with what it gives alone, and the lines that may be its rest."""

    def __init__(self, message: bytes, records: list[Record]) -> None:
        self.rest: list[tuple[RawLine, Carried]] = []
        self._parts = [message]
        self._whole = all(map(_is_whole, records))

    def take(self, line: RawLine, carried: Carried) -> bool:
        """Take the next line if it can be the next part: the parts before it fill one width."""
        message = carried.message
        if len(self._parts) >= MAX_LINES or starts_own(message) or b" batch" in message:
            return False
        if self._whole and b": " not in message:
            return False  # a whole record goes on with a label or not at all
        width = max(map(len, self._parts))
        if width < _MIN_WIDTH or len(message) > width:
            return False
        if any(len(part) < width - 1 for part in self._parts):
            return False
        self.rest.append((line, carried))
        self._parts.append(message)
        return True

    def read(self, reader: Callable[[bytes], list[Record]]) -> list[Record] | None:
        """Give the record of all parts together, None while it is not whole.

        A fold adds nothing; a copy can lose the blank that stood at it.
        """
        for glue in (b"", b" "):
            records = reader(self._joined(glue))
            if len(records) == 1 and _is_whole(records[0]):
                return records
        return None

    def _joined(self, glue: bytes) -> bytes:
        width = max(map(len, self._parts[:-1]))
        joined = self._parts[0]
        for before, part in pairwise(self._parts):
            joined += (b" " if len(before) < width else glue) + part
        return joined
