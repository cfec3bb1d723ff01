"""What a service manager says about the server: systemd, the kernel, compose."""

import re
from collections.abc import Callable

from runs.engines.base import JSON, Event
from runs.engines.redact import redact_text
from runs.readers.carriers import Origin

_Data = dict[str, JSON]
HINTS = (" exited with code ", "Out of memory: Killed process")
# systemd's own lines are told by who printed them.
MANAGERS = ("systemd", "kernel", "systemd-journald")
_TEXT_LIMIT = 4096

_UNIT = r"(?P<unit>[A-Za-z0-9@_.:\\-]{1,200}\.service)"
_SYSTEMD: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("service_started", re.compile(rf"Started {_UNIT}?")),
    ("service_stopping", re.compile(rf"Stopping {_UNIT}?")),
    ("service_stopped", re.compile(rf"Stopped {_UNIT}?")),
    (
        "service_exited",
        re.compile(
            rf"{_UNIT}: Main process exited, code=(?P<code>\w{{1,20}}), "
            r"status=(?P<status>[\w/-]{1,30})"
        ),
    ),
    ("service_failed", re.compile(rf"{_UNIT}: Failed with result '(?P<result>[a-z-]{{1,40}})'")),
    (
        "service_restart_scheduled",
        re.compile(
            rf"{_UNIT}: Scheduled restart job, restart counter is at (?P<count>[0-9]{{1,9}})\."
        ),
    ),
    ("service_gave_up", re.compile(rf"{_UNIT}: Start request repeated too quickly")),
    (
        "service_out_of_memory",
        re.compile(rf"{_UNIT}: A process of this unit has been killed by the OOM"),
    ),
    (
        "messages_suppressed",
        re.compile(r"Suppressed (?P<count>[0-9]{1,12}) messages from (?P<unit>\S{1,200})"),
    ),
    (
        "kernel_out_of_memory",
        re.compile(r"Out of memory: Killed process (?P<pid>[0-9]{1,10}) \((?P<name>[^)]{1,60})\)"),
    ),
)
_EXITED = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]{0,80}) exited with code (?P<code>[0-9]{1,3})(?=\s|\Z)"
)


def read_service_event(
    text: str,
    origin: Origin,
    time: str | None,
    offset: int,
    line: int,
    is_server: Callable[[str], bool],
) -> Event | None:
    """Read a service manager's line. `is_server` tells whether a container runs an engine."""
    if origin.ident in MANAGERS:
        return _systemd(text, time, offset, line)
    ended = _EXITED.match(text)
    if ended is None:
        return None
    who = "server" if is_server(ended["name"]) else "client"
    data: _Data = {"name": ended["name"], "code": int(ended["code"])}
    return Event(f"{who}_exit_{ended['code']}", time, text, data, offset, line)


def _systemd(text: str, time: str | None, offset: int, line: int) -> Event | None:
    for kind, pattern in _SYSTEMD:
        match = pattern.match(text)
        if match:
            data: _Data = {
                name: int(value) if value.isdigit() and value.isascii() else value
                for name, value in match.groupdict().items()
                if value is not None
            }
            return Event(kind, time, redact_text(text[:_TEXT_LIMIT]), data, offset, line)
    return None
