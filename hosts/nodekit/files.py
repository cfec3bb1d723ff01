"""Reading what a job wrote: a piece of a file, or its size and hash."""

from __future__ import annotations

import base64
import hashlib
import os
import time
from typing import Any, BinaryIO, Dict, Optional, Tuple

from . import request as req
from .errors import KitError
from .jsonfile import read_json
from .logcap import gap_of
from .rundir import JobDir

MAX_READ_BYTES = 4 * 1024 * 1024
TOUCH_EVERY_S = 5.0


def read(request: req.Json) -> Dict[str, Any]:
    offset = req.whole(request, "offset", least=0)
    limit = req.whole(request, "max_bytes", least=1, most=MAX_READ_BYTES)
    with open_inside(request) as file:
        file.seek(offset)
        data = file.read(limit)
        size = os.fstat(file.fileno()).st_size
    return {"offset": offset, "data_b64": base64.b64encode(data).decode(), "size": size}


def digest(request: req.Json) -> Dict[str, Any]:
    """Of the bytes that were there when it was asked; the file may be growing.

    `ranges` are [start, end) pairs of byte positions; each gets a hash of its own, in order, or
    null where bytes of it were dropped (`logcap.py`).
    """
    ranges = req.ranges(request, "ranges")
    job = JobDir.of(request)
    with open_inside(request) as file:
        gap = gap_of(job)
        size, sha256 = _hash(file, 0, os.fstat(file.fileno()).st_size)
        parts = [
            None if gap and start < gap[1] and gap[0] < end else _hash(file, start, end)[1]
            for start, end in ranges
        ]
    if gap:  # what was dropped is known to its supervisor only
        ended = read_json(job.file("exit.json")) or {}
        sha256 = ended.get("log_sha256") if ended.get("log_bytes") == size else None
    return {"size": size, "sha256": sha256, "ranges": parts, "dropped": gap}


def _hash(file: BinaryIO, start: int, end: int) -> Tuple[int, Optional[str]]:
    sha256 = hashlib.sha256()
    file.seek(start)
    at = start
    while at < end:
        block = file.read(min(end - at, 1 << 20))
        if not block:
            break
        sha256.update(block)
        at += len(block)
    return at - start, sha256.hexdigest()


def open_inside(request: req.Json) -> BinaryIO:
    path = JobDir.of(request).inside(req.text(request, "path"))
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise KitError("no-such-file", "there is no {!r}".format(request["path"])) from None
    except IsADirectoryError:
        raise KitError("no-such-file", "{!r} is a folder".format(request["path"])) from None


def touch(job: JobDir) -> None:
    """Note that somebody has asked for the job: its dead-man limit counts from here."""
    now = time.time()
    try:
        if abs(now - (touched(job) or 0)) > TOUCH_EVERY_S:
            os.close(os.open(job.file("asked"), os.O_WRONLY | os.O_CREAT, 0o600))
            os.utime(job.file("asked"))
    except OSError:
        pass  # no such job, or a full disk


def touched(job: JobDir) -> Optional[float]:
    try:
        return os.stat(job.file("asked")).st_mtime
    except OSError:
        return None
