"""The attempt's own copy of a log that somebody else writes, with marks where it is not whole.

The copy is followed as any job's log: positions, hash and end are those of this file. A mark is a
line of its own that begins with MARK and holds a JSON object; no log line begins so.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict

MARK = b"\x1ethroughline "


class Spool:
    """Appends to the descriptor that is the job's log."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._in_line = False
        self.gaps = 0

    def lines(self, data: bytes) -> None:
        """Bytes as they are; they need not end with a line."""
        if not data:
            return
        if not self._in_line and data.startswith(MARK):
            data = b" " + data  # nobody but us makes marks
        data = data.replace(b"\n" + MARK, b"\n " + MARK)
        self._in_line = not data.endswith(b"\n")
        self._write(data)

    def mark(self, kind: str, text: str, **more: Any) -> None:
        """What a reader has to know at this place. ``gap``: lines may be missing before it."""
        if self._in_line:
            self._write(b"\n")
            self._in_line = False
        self.gaps += kind == "gap"
        told: Dict[str, Any] = {"kind": kind, "text": text, **more}
        self._write(MARK + json.dumps(told).encode() + b"\n")

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]
