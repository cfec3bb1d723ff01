"""Lines that are JSON objects around a message: journald, docker's files, JSON formatters."""

import json
from datetime import UTC, datetime
from typing import Any

from runs.readers.carriers.base import Carried, Origin

_LOST = "the journal left this message out: read it again with --all"
_KEYS = (b'"MESSAGE"', b'"log"', b'"message"', b'"msg"', b'"line"')
_TIMES = ("asctime", "timestamp", "time", "ts", "@timestamp")


def read_json_line(raw: bytes) -> Carried | None:
    """Take a message out of its JSON object; None when the line is no such object."""
    if not any(key in raw for key in _KEYS) or not raw.rstrip().endswith(b"}"):
        return None
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    if "MESSAGE" in told:
        return _journal(told)
    if isinstance(told.get("log"), str) and ("stream" in told or "time" in told):
        return _docker(told)
    return _formatter(told)


def _journal(told: dict[str, Any]) -> Carried:
    pid = _text(told.get("_PID"))
    host = _text(told.get("_HOSTNAME"))
    ident = _text(told.get("SYSLOG_IDENTIFIER")) or _text(told.get("_SYSTEMD_UNIT"))
    origin = Origin(
        source=host,
        host=host,
        ident=ident,
        pid=int(pid) if pid and pid.isascii() and pid.isdigit() and len(pid) < 12 else None,
        life=_text(told.get("_SYSTEMD_INVOCATION_ID")),
        carrier="journal",
    )
    message = told["MESSAGE"]
    if isinstance(message, list):
        return Carried(_bytes(message), origin, _micros(told), None)
    if isinstance(message, str):
        return Carried(_encoded(message), origin, _micros(told), None)
    return Carried(b"", origin, _micros(told), _LOST)


def _docker(told: dict[str, Any]) -> Carried:
    """A record without a newline at its end is a part; the next one goes on with it."""
    origin = Origin(None, None, None, None, None, "docker")
    return Carried(_encoded(told["log"]), origin, _text(told.get("time")), None)


def _formatter(told: dict[str, Any]) -> Carried | None:
    message = told.get("message", told.get("msg", told.get("line")))
    if not isinstance(message, str):
        return None
    time = next((_text(told.get(key)) for key in _TIMES if _text(told.get(key))), None)
    stamp = time.replace(" ", "T", 1).replace(",", ".") if time else None
    process = told.get("process")
    pid = process if type(process) is int and 0 < process < 2**31 else None
    origin = Origin(None, None, None, pid, None, "json")
    return Carried(_encoded(message), origin, stamp, None)


def _micros(told: dict[str, Any]) -> str | None:
    text = _text(told.get("__REALTIME_TIMESTAMP")) or ""
    if not (text.isascii() and text.isdigit() and len(text) <= 17):
        return None
    stamp = datetime.fromtimestamp(int(text) / 1e6, UTC)
    return stamp.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _bytes(values: list[object]) -> bytes:
    return bytes(value for value in values if type(value) is int and 0 <= value < 256).replace(
        b"\n", b" "
    )


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")
