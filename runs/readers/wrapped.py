"""Records that a terminal folded over several lines, put together again.

A line that begins something of its own is held; lines after it that begin nothing may be its rest,
as long as the parts before them fill one and the same width. The whole counts only when it is one
clean record, so a line that was really cut stays cut.
"""

import re
from collections.abc import Callable, Sequence

from runs.engines.base import Event, Record, Sample
from runs.engines.feed import RawLine
from runs.engines.sglang.labels import INTERVAL_FIELDS, LABELS
from runs.readers.carriers import PLAIN, Carried
from runs.readers.carriers.signs import without_escapes

# A record over more lines than this was copied from a screen narrower than any in use.
MAX_LINES = 16
_MIN_WIDTH = 20
_KNOWN = {*(label.field for label in LABELS.values()), *INTERVAL_FIELDS, "iteration"}
# Events of long lines, and the last thing that such a line says.
_LAST_DATA = {
    "server_args": "server_args",
    "port_in_use": "slug",
    "retraction": "ratio_new",
    "graph_capture_sizes": "avail_gb",
}
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


def begins_own(message: bytes) -> bool:
    """Tell whether the line begins something of its own, so that it is nothing's rest."""
    return _LOG_START.match(message) is not None or _OWN_START.match(message) is not None


def is_whole(record: Record) -> bool:
    """Tell whether nothing of the record is missing or unknown to us."""
    if isinstance(record, Event):
        return record.kind == "server_ready" or (
            record.kind in _LAST_DATA and _LAST_DATA[record.kind] in record.data
        )
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

    def __init__(
        self, line: RawLine, carried: Carried, records: Sequence[Record], known_width: int | None
    ) -> None:
        self.rest: list[tuple[RawLine, Carried]] = []
        self._parts = [carried.message]
        self._origin = carried.origin
        # What a terminal folds is the whole line, its carrier's prefix with it.
        self._widths = [_shown(line.raw, carried.message)]
        self._known_width = known_width
        self._whole = bool(records) and all(map(is_whole, records))
        self._closed = self._whole and any(isinstance(each, Event) for each in records)

    @property
    def width(self) -> int:
        return max(self._widths[:-1] or self._widths)

    @property
    def ended(self) -> bool:
        """A part that does not fill the width is the last one."""
        return len(self._parts) > 1 and self._widths[-1] < self.width - 1

    def take(self, line: RawLine, carried: Carried) -> bool:
        """Take the next line if it can be the next part."""
        message = carried.message
        if len(self._parts) >= MAX_LINES or begins_own(message):
            return False
        if carried.origin is not PLAIN and carried.origin != self._origin:
            return False
        width, shown = max(self._widths), _shown(line.raw, carried.message)
        # The first part itself may have lost a blank at its end.
        if shown > width + 1 or any(each < width - 1 for each in self._widths):
            return False
        self.rest.append((line, carried))
        self._widths.append(shown)
        self._parts.append(message)
        return True

    def read(self, reader: Callable[[bytes], list[Record]]) -> tuple[list[Record], int] | None:
        """Give the records of the parts together, and how many lines of the rest they took.

        None: they are not whole. A fold adds nothing; a copy can lose the blank that stood at it. A
        last part that fills the width by chance is followed by lines that are none of the record's.
        """
        if self._closed:
            return None
        labelled = any(b": " in part for part in self._parts[1:])
        if self._whole and self.width != self._known_width and not labelled:
            return None  # a whole record goes on with a label or not at all
        for count in range(len(self._parts), 1, -1):
            for glue in (b"", b" "):
                records = reader(self._joined(glue, count))
                if records and all(map(is_whole, records)):
                    return records, count - 1
        return None

    def _joined(self, glue: bytes, count: int) -> bytes:
        joined = self._parts[0]
        for before, part in zip(self._widths, self._parts[1:count], strict=False):
            joined += (b" " if before < self.width else glue) + part
        return joined


def _shown(raw: bytes, message: bytes) -> int:
    """Give how wide a line was on the screen that folded it, as far as bytes tell."""
    if raw[:1] == b"{":
        return len(message)  # written into JSON after it was folded
    return len(without_escapes(raw) if b"\x1b" in raw else raw.rstrip(b"\r"))
