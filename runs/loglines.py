"""A stored log as lines for people: position, clock, text, and what was found in each."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runs.models import Event, LogStream

TAIL = 24 * 1024  # bytes of log that a page opens with
BATCH = 64 * 1024  # bytes of log that one live event may carry

_CLOCK = re.compile(r"^\[\d{4}-\d{2}-\d{2}[ T](\d{2}:\d{2}:\d{2})(?:[.,]\d+)?\s*([^\]]*)\]\s?")
# what journald and syslog put in front
_CARRIER = re.compile(r"^[A-Z][a-z]{2} [ \d]\d (\d{2}:\d{2}:\d{2}) \S+ [^\s\[:]+(?:\[\d+\])?: ")
# colour and cursor sequences of terminals; the stored bytes keep them
_SEQUENCES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# ordinary milestones are read in the list of events; in the log they only distract
_WARN = {"damaged", "retraction", "crash", "port_in_use", "limit_reset", "flush_refused"}


@dataclass(frozen=True)
class LogLine:
    """One line. ``clock`` and ``rank`` were in its bracket; ``mark`` is "", "event" or "warn"."""

    offset: int
    clock: str
    rank: str
    text: str
    mark: str
    remark: str


@dataclass(frozen=True)
class LogPart:
    """Lines of the bytes [start, end); ``skipped`` bytes before them were left out."""

    start: int
    end: int
    skipped: int
    lines: list[LogLine]


def log_part(stream: LogStream, after: int, *, limit: int = BATCH) -> LogPart:
    """What is stored behind ``after``, at most the last ``limit`` bytes of it, in whole lines."""
    end = stream.position
    start = max(min(after, end), end - limit)
    data = stream.text(start, end)
    if start > after:  # begin behind a line end, so that no half line is shown
        cut = data.find(b"\n") + 1
        start, data = start + cut, data[cut:]
    return LogPart(start, end, max(start - after, 0), split(data, start, found_in(stream, start)))


def found_in(stream: LogStream, start: int) -> dict[int, Event]:
    """Events by the offset of their line."""
    events = Event.objects.filter(stream=stream, offset__gte=start)
    return {event.offset: event for event in events if event.offset is not None}


def split(data: bytes, start: int, found: dict[int, Event]) -> list[LogLine]:
    lines, at = [], start
    for raw in data.split(b"\n"):
        if raw or at < start + len(data):
            lines.append(_line(raw, at, found.get(at)))
        at += len(raw) + 1
    return lines


def _line(raw: bytes, at: int, event: Event | None) -> LogLine:
    text = readable(raw)
    carrier = _CARRIER.match(text)
    text = text[carrier.end() :] if carrier else text
    stamp = _CLOCK.match(text)
    mark = "" if event is None else "warn" if event.kind in _WARN else "event"
    remark = ""
    if event is not None:
        why = event.data.get("why", "") if event.kind == "damaged" else ""
        remark = f"damaged: {why}" if why else event.kind.replace("_", " ")
    return LogLine(
        offset=at,
        clock=stamp[1] if stamp else carrier[1] if carrier else "",
        rank=stamp[2] if stamp else "",
        text=text[stamp.end() :] if stamp else text,
        mark=mark,
        remark=remark,
    )


def readable(raw: bytes) -> str:
    """A line's text as a terminal would leave it: overwritten parts, colours and controls gone."""
    text = raw.decode("utf-8", "replace").rstrip("\r\n").rpartition("\r")[2]
    return _CONTROLS.sub("\ufffd", _SEQUENCES.sub("", text))
