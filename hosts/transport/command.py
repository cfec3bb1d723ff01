"""The one place where a command line is made: from parts, each quoted for a POSIX shell.

No user text is ever formatted into a shell; it may only be one part, which arrives as one argument.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

# A program that says nothing does not notice that its channel was closed, and would keep one of
# the few sessions a node grants. So its shell keeps our end of stdin as a lifeline: at its end the
# program is told to go. The watcher's own output is closed, or the session would wait for it.
_LIFELINE = (
    'exec 3<&0; "$@" </dev/null 3<&- & p=$!; '
    '{ cat <&3 >/dev/null; kill "$p"; } >/dev/null 2>&1 & w=$!; '
    'wait "$p"; s=$?; kill "$w" 2>/dev/null; exit "$s"'
)


@dataclass(frozen=True)
class Command:
    """A program and its arguments. Parts that no argument can carry are refused (ValueError)."""

    parts: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.parts or not self.parts[0]:
            raise ValueError("A command needs a program.")
        if "=" in self.parts[0] or self.parts[0].startswith("-"):
            raise ValueError(f"{self.parts[0]!r} is not the name of a program.")
        for part in self.parts:
            _check_part(part)

    @classmethod
    def of(cls, *parts: str) -> Command:
        return cls(parts)

    @property
    def line(self) -> str:
        """What is sent: one line that the login shell splits into exactly these parts."""
        return shlex.join(self.parts)

    @property
    def tied(self) -> Command:
        """The same program without input, ended (SIGTERM) when the session's stdin ends."""
        return Command(("sh", "-c", _LIFELINE, "lifeline", *self.parts))


def _check_part(part: str) -> None:
    if any(mark in part for mark in "\0\n\r"):
        raise ValueError(f"A command part holds a line break or a NUL: {part!r}")
    try:
        part.encode()
    except UnicodeEncodeError:
        raise ValueError(f"A command part is not valid text: {part!r}") from None
