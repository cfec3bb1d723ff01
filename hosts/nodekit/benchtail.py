"""A tool's output and its result file, as records: text, in pieces, of bounded length."""

from __future__ import annotations

import math
import os
import re
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

# A piece of nothing but unreadable bytes takes six times its length; a line stays below 256 KiB.
PIECE = 32 * 1024
HEAD = 512 * 1024
LAST = 512 * 1024
RESULT_LIMIT = 8 * 1024 * 1024
EVERY_S = 1.0
BLOCK = 256 * 1024
AT_ONCE = 64 * BLOCK
# "  6%|▋  | 3/48 [00:01<…": the progress bar that most tools draw, again and again after a \r.
_BAR = re.compile(rb"%\|[^\r\n|]{0,400}\|\s{0,4}([0-9]{1,9})/([0-9]{1,9}) \[")


class Tail:
    """Follows the file: the head at once, of the rest the last part when the tool has ended."""

    def __init__(self, path: str, requests: int, emit: Callable[..., None]) -> None:
        self.path = path
        self.requests = requests
        self.emit = emit  # gets text= and, where a part was left out before it, skipped=
        self.size = 0
        self.done: Optional[int] = None  # requests ended, by the bar; None while none is drawn
        self.bar_from: Optional[float] = None  # monotonic times at which the bar began and was full
        self.bar_full: Optional[float] = None
        self._told = 0
        self._skipped = 0
        self._pending = b""
        self._recent = b""
        self._next = 0.0

    def look(self, final: bool = False) -> None:
        """Read what is new and tell of it, at most once a second unless there is much."""
        now = time.monotonic()
        for data in _new(self.path, self.size, self.size + AT_ONCE if not final else math.inf):
            self.size += len(data)
            self._bar(data, now)
            self._pending += data
            self._tell_head()
            self._drop_middle()
        if final:
            self._tell_last(self._pending)
            self._pending = b""
        elif now >= self._next and self._told < HEAD:
            self._next = now + EVERY_S
            self._tell_whole_lines()

    @property
    def skipped(self) -> int:
        return self._skipped

    def _tell_head(self) -> None:
        while len(self._pending) >= PIECE and self._told < HEAD:
            piece = self._pending[: cut(self._pending)]
            self._pending = self._pending[len(piece) :]
            self._told += len(piece)
            self.emit(text=text_of(piece))

    def _tell_whole_lines(self) -> None:
        end = max(self._pending.rfind(b"\n"), self._pending.rfind(b"\r")) + 1
        if end:
            piece, self._pending = self._pending[:end], self._pending[end:]
            self._told += len(piece)
            self.emit(text=text_of(piece))

    def _drop_middle(self) -> None:
        if self._told >= HEAD and len(self._pending) > 2 * LAST:
            self._skipped += len(self._pending) - LAST
            self._pending = self._pending[-LAST:]

    def _tell_last(self, data: bytes) -> None:
        if self._told >= HEAD and len(data) > LAST:
            self._skipped += len(data) - LAST
            data = data[-LAST:]
        skipped = self._skipped
        for piece in pieces(data):
            self.emit(text=text_of(piece), **({"skipped": skipped} if skipped else {}))
            skipped = 0

    def _bar(self, data: bytes, now: float) -> None:
        """Only a bar of as many as were asked is the measured requests' own."""
        text = self._recent + data
        self._recent = text[-500:]
        for found in _BAR.findall(text):
            if int(found[1]) == self.requests:
                self.bar_from = now if self.bar_from is None else self.bar_from
                self.done = int(found[0])
        if self.done == self.requests and self.bar_full is None:
            self.bar_full = now


def cut(data: bytes) -> int:
    """Where the first piece ends: behind a line or a comma, so that no name loses its value."""
    if len(data) <= PIECE:
        return len(data)
    ends = [data.rfind(mark, PIECE // 2, PIECE) for mark in (b"\n", b"\r", b", ")]
    end = max(ends) + 1
    if end:
        return end
    end = PIECE
    while end > PIECE - 4 and data[end] & 0xC0 == 0x80:
        end -= 1  # not inside of a character
    return end


def pieces(data: bytes) -> List[bytes]:
    found: List[bytes] = []
    while data:
        end = cut(data)
        found.append(data[:end])
        data = data[end:]
    return found


def text_of(data: bytes) -> str:
    """What is no UTF-8 is replaced; the file beside has it as it was."""
    return data.decode("utf-8", "replace")


def result_of(path: Optional[str]) -> Tuple[bytes, Optional[Dict[str, Any]]]:
    """What the tool wrote, at most 8 MiB of it, and what is to be told of the file."""
    if path is None:
        return b"", None
    told: Dict[str, Any] = {"name": os.path.basename(path), "bytes": None, "cut": False}
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(RESULT_LIMIT)
    except OSError as error:
        return b"", {**told, "problem": error.strerror}
    return data, {**told, "bytes": size, "cut": size > len(data)}


def _new(path: str, at: int, most: float) -> Iterator[bytes]:
    """What stands in the file behind `at`; a tool that writes without end is not read so."""
    try:
        with open(path, "rb") as file:
            file.seek(at)
            while at < most:
                data = file.read(BLOCK)
                if not data:
                    return
                at += len(data)
                yield data
    except OSError:
        return  # not made yet
