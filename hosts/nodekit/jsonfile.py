"""Small records on disk: whole or not there at all, and safe on disk before anyone sees them."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Optional

# An exit record must fit in the block that was set aside for it, or a full disk could lose it.
RESERVED_BYTES = 4096


def read_json(path: str) -> Optional[Dict[str, Any]]:
    """The record, or None when there is none (or none that can be read as one)."""
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def write_json(path: str, record: Dict[str, Any]) -> None:
    temporary = "{}.{}.tmp".format(path, os.getpid())
    write_private(temporary, json.dumps(record).encode())
    _publish(temporary, path)


def write_private(path: str, data: bytes) -> None:
    """Bytes into a file of mode 0600, synced."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def reserve(path: str) -> None:
    """Set a block aside, so that `write_reserved` succeeds on a disk that is full by then."""
    write_private(path + ".reserved", b" " * RESERVED_BYTES)


def write_reserved(path: str, record: Dict[str, Any]) -> None:
    data = json.dumps(record).encode().ljust(RESERVED_BYTES)
    fd = os.open(path + ".reserved", os.O_WRONLY)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    _publish(path + ".reserved", path)


def _publish(temporary: str, path: str) -> None:
    os.rename(temporary, path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
