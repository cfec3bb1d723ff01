"""A log file that somebody else writes and rotates, copied into the spool without a loss unseen."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

from .errors import KitError
from .spool import Spool

BLOCK = 256 * 1024
HEAD = 256  # first bytes: with device and number they tell one file from the next
QUIET_S = 1.0  # a file that was renamed is read on for so long: its writer may not know yet


def open_log(path: str) -> int:
    """The file for reading; what is no regular file is refused before it can block or answer."""
    if not os.path.isabs(path) or "\0" in path:
        raise KitError("bad-log", "A log file is named by its absolute path: {!r}".format(path))
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise KitError("bad-log", "{}: {}".format(path, error.strerror)) from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise KitError("bad-log", "{} is no regular file, so nothing reads it.".format(path))
    return fd


@dataclass
class Generation:
    """One file under the path: its descriptor keeps its number from being given away."""

    fd: int
    position: int
    quiet_since: float

    @property
    def identity(self) -> Tuple[int, int]:
        found = os.fstat(self.fd)
        return found.st_dev, found.st_ino

    def head(self, length: int) -> bytes:
        return os.pread(self.fd, length, 0)


class LogFile:
    """``read`` copies what is new. Where the copy begins is fixed when this is made (``skip``)."""

    def __init__(self, path: str, spool: Spool, *, skip: bool) -> None:
        self.path = path
        self._spool = spool
        fd = open_log(path)
        start = os.fstat(fd).st_size if skip else 0
        self._now = Generation(fd, start, time.monotonic())
        self._late: Optional[Generation] = None
        self._head = self._now.head(min(start, HEAD))
        self._half = start > 0 and os.pread(fd, 1, start - 1) != b"\n"  # begins within a line
        self.copied = 0
        self.generations = 1

    def read(self, *, last: bool = False) -> bool:
        """Everything new by now; ``last``: nobody waits for a renamed file's writer any more."""
        before = self.copied
        self._check_cut()
        self._copy(self._now)
        self._read_late()
        successor = self._successor()
        quiet = time.monotonic() - self._now.quiet_since
        if successor is not None and (last or quiet >= QUIET_S):
            self._turn_to(successor)
        elif successor is not None:
            os.close(successor)
        return self.copied > before

    def _copy(self, file: Generation) -> None:
        while True:
            data = os.pread(file.fd, BLOCK, file.position)
            if not data:
                return
            file.position += len(data)
            file.quiet_since = time.monotonic()
            if len(self._head) < HEAD and file is self._now:
                self._head = file.head(min(file.position, HEAD))
            self._put(data)

    def _put(self, data: bytes) -> None:
        self.copied += len(data)
        if self._half:
            _, ended, data = data.partition(b"\n")
            self._half = not ended
        self._spool.lines(data)

    def _check_cut(self) -> None:
        """A file that is shorter than what was read of it, or begins otherwise, is another text."""
        size = os.fstat(self._now.fd).st_size
        if size >= self._now.position and self._now.head(len(self._head)) == self._head:
            return
        text = (
            "The log was cut to nothing and begun anew: lines written just before may be missing."
        )
        self._spool.mark("gap", text, why="truncated", read=self._now.position, count=None)
        self._begin(Generation(self._now.fd, 0, time.monotonic()))

    def _successor(self) -> Optional[int]:
        """Another file that stands under the path by now."""
        try:
            found = os.stat(self.path)
            if (found.st_dev, found.st_ino) == self._now.identity:
                return None
            return open_log(self.path)
        except (OSError, KitError):
            return None  # renamed and not made anew yet, or no log: look again

    def _turn_to(self, fd: int) -> None:
        self._spool.mark("rotated", "The log was rotated; what follows is the new file.")
        if self._late is not None:
            os.close(self._late.fd)
        self._late = self._now
        self._begin(Generation(fd, 0, time.monotonic()))
        self._copy(self._now)

    def _begin(self, file: Generation) -> None:
        self._now = file
        self._head = b""
        self._half = False
        self.generations += 1

    def _read_late(self) -> None:
        """A writer that kept the old file open for longer: its lines come late, but they come."""
        late = self._late
        if late is not None and os.fstat(late.fd).st_size > late.position:
            self._spool.mark("late", "These lines were written to the rotated file.")
            self._copy(late)

    def told(self) -> Dict[str, Any]:
        return {"path": self.path, "generations": self.generations, "copied": self.copied}
