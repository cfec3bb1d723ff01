"""Send a file's bytes as they are written, until its job has ended or the reader has gone."""

from __future__ import annotations

import os
import select
import time
from typing import BinaryIO, Optional

from . import request as req
from .errors import KitError
from .files import open_inside, touch
from .rundir import JobDir
from .status import status_of

POLL_S = 0.1
CHUNK_BYTES = 64 * 1024


def follow(request: req.Json, stdin: int, stdout: int) -> None:
    """Raw bytes from `offset` on, below the line `mark` if the request has one.

    Nothing else is ever written to `stdout`, but a login shell may have written there before: the
    mark tells where the file's bytes begin.
    """
    job = JobDir.of(request)
    if "mark" in request:
        os.write(stdout, req.text(request, "mark").encode() + b"\n")
    offset = req.whole(request, "offset", least=0)
    file = _open(request, job, stdin)
    if file is None:
        return
    with file:
        file.seek(offset)
        while True:
            # Looked at before the read: what was written by then is below, so nothing is cut off.
            over = _is_over(request, job)
            touch(job)
            if not _copy(file, stdout):
                return
            if over:
                _refuse_beyond(file, offset)
                return
            if _reader_gone(stdin):
                return


def _open(request: req.Json, job: JobDir, stdin: int) -> Optional[BinaryIO]:
    """The file, waited for while the job may still make it; None when the reader left first."""
    while True:
        over = _is_over(request, job)
        try:
            return open_inside(request)
        except KitError:
            if over:
                raise
        if _reader_gone(stdin):
            return None


def _is_over(request: req.Json, job: JobDir) -> bool:
    if request.get("wait") is False:
        return True
    # A job without supervisor never gets an exit record: nobody would wait for one in vain.
    return status_of(job)["state"] in ("exited", "lost", "rebooted")


def _copy(file: BinaryIO, stdout: int) -> bool:
    """Everything there is by now. False when nobody reads any more."""
    while True:
        data = file.read(CHUNK_BYTES)
        if not data:
            return True
        try:
            while data:
                data = data[os.write(stdout, data) :]
        except BrokenPipeError:
            return False


def _refuse_beyond(file: BinaryIO, offset: int) -> None:
    size = os.fstat(file.fileno()).st_size
    if size < offset:
        raise KitError("offset-beyond-end", "offset {} of {} bytes".format(offset, size))


def _reader_gone(stdin: int) -> bool:
    """Waits one poll, less when stdin ends: the client keeps it open for as long as it listens."""
    deadline = time.monotonic() + POLL_S
    while True:
        ready, _, _ = select.select([stdin], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        if not os.read(stdin, 4096):
            return True
