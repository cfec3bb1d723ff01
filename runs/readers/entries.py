"""A log that a service gives out as one JSON document: a list of entries, each with its message."""

import json
from typing import Any

from runs.readers.broken import MOST, begins_like_json

# Where a service keeps its list, and the line inside an entry, however deep.
_LISTS = ("events", "entries", "hits", "data", "results", "logs")
_MESSAGES = ("message", "textPayload", "msg", "line", "log", "MESSAGE", "@message")
_TIMES = ("timestamp", "@timestamp", "time", "ts")
_DEPTH = 3


def as_lines(data: bytes) -> bytes | None:
    """Give such a document as one JSON object a line; None when it is none."""
    if not begins_like_json(data) or len(data) > MOST:
        return None
    try:
        entries = _list(json.loads(data), _DEPTH)
    except (ValueError, RecursionError):
        return None
    told = [_entry(each, _DEPTH) for each in entries]
    if not told or None in told:
        return None
    return b"".join(json.dumps(each).encode() + b"\n" for each in told)


def _list(found: Any, depth: int) -> list[Any]:
    if isinstance(found, dict) and depth:
        inner = (_list(found.get(key), depth - 1) for key in _LISTS)
        return next((each for each in inner if each), [])
    return found if isinstance(found, list) else []


def _entry(found: Any, depth: int) -> dict[str, Any] | None:
    """Give the message and the time of one entry."""
    if not isinstance(found, dict):
        return None
    if "MESSAGE" in found:
        return found
    message = next((found[key] for key in _MESSAGES if isinstance(found.get(key), str)), None)
    if message is None:
        inner = (found.get(key) for key in ("_source", "fields", "jsonPayload"))
        told = next((each for each in inner if isinstance(each, dict)), None)
        return _entry(told, depth - 1) if told and depth else None
    time = next((found[key] for key in _TIMES if isinstance(found.get(key), str)), None)
    return {"timestamp": time, "message": message.rstrip("\r\n")}
