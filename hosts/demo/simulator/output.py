"""Where lines go: SGLang's stamp in front, its own lines to stderr, access lines to stdout."""

from __future__ import annotations

import sys
import time
from typing import TextIO

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}


class Log:
    """Writes stamped lines; `tag` is the rank tag of scheduler lines (' TP0' or nothing)."""

    def __init__(self, level: str, access_level: str, tag: str) -> None:
        self._level = LEVELS.get(level.lower(), 20)
        self._access_level = LEVELS.get(access_level.lower(), 20)
        self._tag = tag

    def info(self, text: str) -> None:
        self._stamped(20, "", text)

    def warning(self, text: str) -> None:
        self._stamped(30, "", text)

    def error(self, text: str) -> None:
        self._stamped(40, "", text)

    def scheduler(self, text: str) -> None:
        self._stamped(20, self._tag, text)

    def scheduler_warning(self, text: str) -> None:
        self._stamped(30, self._tag, text)

    def scheduler_error(self, text: str) -> None:
        self._stamped(40, self._tag, text)

    def access(self, text: str) -> None:
        if self._access_level <= 20:
            _write(sys.stdout, _stamp("") + text + "\n")

    def plain(self, text: str) -> None:
        """A line of another writer: a traceback, a progress bar, a C++ library."""
        _write(sys.stderr, text + "\n")

    def _stamped(self, level: int, tag: str, text: str) -> None:
        if level >= self._level:
            _write(sys.stderr, _stamp(tag) + text + "\n")


def _stamp(tag: str) -> str:
    return time.strftime("[%Y-%m-%d %H:%M:%S") + tag + "] "


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()
