"""The stream of records that a load driver writes: one JSON object a line, on one steady clock."""

from __future__ import annotations

import json
import os
import time
from typing import Any, Optional

FORMAT = 1


class Clock:
    """Wall-clock times that never jump: monotonic ones, anchored once."""

    def __init__(self) -> None:
        self.offset = time.time() - time.monotonic()

    def epoch(self, monotonic: Optional[float]) -> Optional[float]:
        return None if monotonic is None else round(monotonic + self.offset, 6)

    def now(self) -> float:
        return round(time.monotonic() + self.offset, 6)


class Output:
    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.clock = Clock()

    def emit(self, kind: str, **fields: Any) -> None:
        data = json.dumps({"type": kind, **fields}).encode() + b"\n"
        while data:
            data = data[os.write(self.fd, data) :]
