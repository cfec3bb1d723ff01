"""Reading what a job wrote: a piece of a file, or its size and hash."""

from __future__ import annotations

import base64
import hashlib
import os
from typing import Any, BinaryIO, Dict, Tuple

from . import request as req
from .errors import KitError
from .rundir import JobDir

MAX_READ_BYTES = 4 * 1024 * 1024


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

    `ranges` are [start, end) pairs of byte positions; each gets a hash of its own, in order.
    """
    ranges = req.ranges(request, "ranges")
    with open_inside(request) as file:
        size, sha256 = _hash(file, 0, os.fstat(file.fileno()).st_size)
        parts = [_hash(file, start, end)[1] for start, end in ranges]
    return {"size": size, "sha256": sha256, "ranges": parts}


def _hash(file: BinaryIO, start: int, end: int) -> Tuple[int, str]:
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
