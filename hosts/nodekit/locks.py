"""Advisory locks that the kernel frees when their holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from typing import Iterator, Optional

from .errors import KitError

POLL_S = 0.02


def _open(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _try(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def take(path: str, wait_s: float) -> Optional[int]:
    """An exclusive lock as an open descriptor, or None when `wait_s` was not enough."""
    fd = _open(path)
    deadline = time.monotonic() + wait_s
    while not _try(fd, fcntl.LOCK_EX):
        if time.monotonic() >= deadline:
            os.close(fd)
            return None
        time.sleep(POLL_S)
    return fd


@contextmanager
def exclusive(path: str, wait_s: float) -> Iterator[None]:
    fd = take(path, wait_s)
    if fd is None:
        raise KitError("busy", "another command has held {} for {:g} s".format(path, wait_s))
    try:
        yield
    finally:
        os.close(fd)


def is_held(path: str) -> bool:
    """Whether someone holds the lock exclusively. A shared look: two lookers never collide."""
    try:
        fd = os.open(path, os.O_RDWR)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        return not _try(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)
