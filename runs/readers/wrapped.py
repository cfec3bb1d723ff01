"""Records that a terminal folded over several lines, put together again.

A line that begins something of its own is held; lines after it that begin nothing may be its rest,
as long as the parts before them fill one and the same width, or as many words of it as fit: mail
programs break between words. The whole counts only when it is one clean record, so a line that was
really cut stays cut.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from runs.engines.base import Event, Record, Request, Sample
from runs.engines.feed import RawLine
from runs.engines.sglang.labels import INTERVAL_FIELDS, LABELS
from runs.readers.carriers import PLAIN, Carried
from runs.readers.carriers.signs import without_escapes, without_fences

Reader: TypeAlias = Callable[[bytes], list[Record | Request]]
# A record over more lines than this was copied from a screen narrower than any in use.
MAX_LINES = 16
_MAX_DUMP = 400  # lines of a dump of arguments
_MIN_WIDTH = 20
_KNOWN = {*(label.field for label in LABELS.values()), *INTERVAL_FIELDS, "iteration"}
# Events of long lines, and the last thing that such a line says.
_LAST_DATA = {
    "server_args": "server_args",
    "port_in_use": "slug",
    "retraction": "ratio_new",
    "graph_capture_sizes": "avail_gb",
}
_OUR_NAME = re.compile(r"[a-z][a-z0-9_]*")
# A stamp, a level, a process tag: what an engine's line begins with.
_LOG_START = re.compile(
    rb"\[[0-9]{2,4}[-:/]|(?:INFO|WARN|WARNING|ERROR|DEBUG)\b[ :]"
    rb"|\([A-Za-z]\w{0,40} (?:rank=[0-9]{1,5} )?pid="
    # llama.cpp: the time since its start, a slot, or the timings of a request by themselves.
    rb"|[0-9]{1,6}\.[0-9]{2}\.[0-9]{3}\.[0-9]{3} [A-Z] |(?:slot|srv) {1,14}[a-z_]{1,40}: "
    rb"|(?:\s{4,12}|llama_\w{1,30}: {1,20}|print_timings: {1,9})(?:prompt eval|eval|total) time ="
    rb"|prompt eval time ="
    rb"|draft acceptance"
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


def is_whole(record: Record | Request) -> bool:
    """Tell whether nothing of the record is missing or unknown to us."""
    if isinstance(record, Request):
        return True
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
        self,
        line: RawLine,
        carried: Carried,
        records: Sequence[Record | Request],
        known_width: int | None,
    ) -> None:
        self.rest: list[tuple[RawLine, Carried]] = []
        self._begin = line.raw
        self._dump = b"] server_args=" in line.raw
        self._parts = [carried.message]
        self._origin = carried.origin
        # What a terminal folds is the whole line, its carrier's prefix with it.
        self._widths = [_shown(line.raw, carried.message)]
        # Broken between words: the longest part, and the shortest with one more word.
        self._most = _without_blanks(line.raw, self._widths[0])
        self._least: int | None = None
        self._known_width = known_width
        self._whole = bool(records) and all(map(is_whole, records))
        self._closed = self._whole and any(isinstance(each, Event) for each in records)

    @property
    def _last(self) -> bytes:
        return self.rest[-1][0].raw if self.rest else self._begin

    @property
    def width(self) -> int:
        return max(self._widths[:-1] or self._widths)

    @property
    def ended(self) -> bool:
        """A part that does not fill the width is the last one, unless words may fill it."""
        if self._least is not None:
            return False
        return len(self._parts) > 1 and self._widths[-1] < self.width - 1

    def take(self, line: RawLine, carried: Carried) -> bool:
        """Take the next line if it can be the next part."""
        message = carried.message
        if len(self._parts) >= (_MAX_DUMP if self._dump else MAX_LINES) or begins_own(message):
            return False
        if carried.origin is not PLAIN and carried.origin != self._origin:
            return False
        width, shown = max(self._widths), _shown(line.raw, carried.message)
        # The first part itself may have lost a blank at its end.
        filled = shown <= width + 1 and all(each >= width - 1 for each in self._widths)
        if not self._takes_words(line.raw, message, shown) and not filled:
            return False
        self.rest.append((line, carried))
        self._widths.append(shown)
        self._parts.append(message)
        return True

    def _takes_words(self, raw: bytes, message: bytes, shown: int) -> bool:
        """Tell whether every part before has as many words as fit."""
        if len(self._parts) > 1 and self._least is None:
            return False
        before = _without_blanks(self._last, self._widths[-1])
        one_more = before + 1 + len(message.split(b" ", 1)[0])
        most = max(self._most, _without_blanks(raw, shown))
        least = one_more if self._least is None else min(self._least, one_more)
        self._most, self._least = most, least if most < least else None
        return self._least is not None

    def read(self, reader: Reader) -> tuple[bytes, list[Record | Request], int] | None:
        """Give the parts together, their records, and how many lines of the rest they took.

        None: they are not whole. A fold adds nothing; a copy can lose the blank that stood at it. A
        last part that fills the width by chance is followed by lines that are none of the record's.
        """
        if self._closed:
            return None
        labelled = any(b": " in part or b"= " in part for part in self._parts[1:])
        if self._whole and self.width != self._known_width and not labelled:
            return None  # a whole record goes on with a label or not at all
        for count in range(len(self._parts), 1, -1):
            if self._dump and not self._parts[count - 1].rstrip().endswith((b")", b"}")):
                continue
            clean: list[tuple[bytes, list[Record | Request]]] = []
            for message in self._joined(count):
                records = reader(message)
                if records and all(map(is_whole, records)):
                    clean.append((message, records))
                    if all(map(_knows_labels, records)):
                        break
            if clean:
                return *min(clean, key=lambda each: _misfit(each[1])), count - 1
        return None

    def _joined(self, count: int) -> Iterator[bytes]:
        """Give what the parts may have been: cut at one width, or between words."""
        parts, widths = self._parts[:count], self._widths[: count - 1]
        if min(widths) >= self.width - 1:
            for glue in (b"", b" "):
                joined = parts[0]
                for before, part in zip(widths, parts[1:], strict=True):
                    joined += (b" " if before < self.width else glue) + part
                yield joined
        yield b" ".join([*(part.rstrip(b" ") for part in parts[:-1]), parts[-1]])


def _knows_labels(record: Record | Request) -> bool:
    """Tell whether a whole record cannot be read otherwise: a wrong blank makes it none."""
    return isinstance(record, Event) or (
        isinstance(record, Sample) and record.phase in ("decode", "prefill")
    )


def _misfit(records: Sequence[Record | Request]) -> tuple[int, int]:
    """Grow with labels that nobody knows and with fewer values: a wrong blank makes both."""
    strange = told = 0
    for each in records:
        if isinstance(each, Sample):
            strange += sum(_OUR_NAME.fullmatch(key) is None for key in each.extras)
            told += len(each.extras)
            told += sum(getattr(each, name) is not None for name in Sample.__slots__)
        elif isinstance(each, Request):
            told += len(each.values)
    return strange, -told


def _shown(raw: bytes, message: bytes) -> int:
    """Give how wide a line was on the screen that folded it, as far as bytes tell."""
    if raw[:1] == b"{":
        return len(message)  # written into JSON after it was folded
    if b"```" in raw:
        raw = without_fences(raw)
    return len(without_escapes(raw) if b"\x1b" in raw else raw.rstrip(b"\r"))


def _without_blanks(raw: bytes, shown: int) -> int:
    """Give the width less the blanks at the end, which a mail program leaves where it breaks."""
    line = raw.rstrip(b"\r")
    return shown - (len(line) - len(line.rstrip(b" ")))
