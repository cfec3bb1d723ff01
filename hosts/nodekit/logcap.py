"""Keeps a log that has grown beyond measure from filling the node's disk.

Its head and its tail stay where they are and the middle gives its blocks back to the disk, so
every position stays true for whoever reads along. The hash goes over the bytes as they were
written.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from typing import List, Optional, Tuple

from .jsonfile import read_json, write_json
from .rundir import JobDir

BLOCK = 4096
PUNCH_HOLE_KEEP_SIZE = 0x03
GAP = "log-gap.json"


def gap_of(job: JobDir) -> Optional[List[int]]:
    """[start, end) of what was dropped of the job's log; None if it is whole."""
    gap = (read_json(job.file(GAP)) or {}).get("dropped")
    return gap if isinstance(gap, list) else None


class LogCap:
    """`look` is told the log's size and drops its middle when that is more than `limit` bytes."""

    def __init__(self, job: JobDir, path: str, limit: Optional[int]) -> None:
        self.job = job
        self.path = path
        self.limit = limit
        self.end = 0  # of what was dropped
        self.hashed = 0
        self.sha256 = hashlib.sha256()

    def look(self, size: int) -> None:
        if self.limit is None or size <= self.limit:
            return
        half = self.limit // 2
        start = -(-half // BLOCK) * BLOCK
        end = (size - half) // BLOCK * BLOCK
        # in steps of an eighth, so that a growing log is not punched at every look
        if end < max(start, self.end) + self.limit // 8:
            return
        try:
            self._drop(start, end)
        except OSError:
            pass  # a file system that cannot: the log grows on, and `disk-full` is the last line

    def _drop(self, start: int, end: int) -> None:
        self.hash_to(end)
        write_json(self.job.file(GAP), {"dropped": [start, end]})
        with open(self.path, "r+b", buffering=0) as file:
            begin = max(start, self.end)
            _punch(file.fileno(), begin, end - begin)
            os.pwrite(file.fileno(), self._notice(end - start), start)
        self.end = end

    def _notice(self, dropped: int) -> bytes:
        text = "\n[throughline] {} bytes are missing here: the log is longer than {} bytes\n"
        return text.format(dropped, self.limit).encode()

    def hash_to(self, end: Optional[int]) -> None:
        """Hash on to `end` (None: to the end of the file). Raises OSError."""
        with open(self.path, "rb") as file:
            file.seek(self.hashed)
            while end is None or self.hashed < end:
                block = file.read(1 << 20 if end is None else min(1 << 20, end - self.hashed))
                if not block:
                    return
                self.sha256.update(block)
                self.hashed += len(block)

    def size_and_sha256(self) -> Tuple[Optional[int], Optional[str]]:
        """Of the whole log; unknown for one that someone took away."""
        try:
            self.hash_to(None)
        except OSError:
            return None, None
        return self.hashed, self.sha256.hexdigest()


def _punch(fd: int, start: int, length: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    offset = ctypes.c_longlong
    if libc.fallocate(fd, PUNCH_HOLE_KEEP_SIZE, offset(start), offset(length)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
