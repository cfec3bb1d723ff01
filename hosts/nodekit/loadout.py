"""The stream of records that a load driver writes: one JSON object a line, on one steady clock."""

from __future__ import annotations

import json
import os
import time
from typing import Any, Callable, Optional

from .errors import KitError

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


def told(out: Output, work: Callable[[], None]) -> int:
    """Do the work; whoever reads the stream must learn of a fault in the stream's own form."""
    try:
        work()
    except KitError as error:
        out.emit("fatal", t=out.clock.now(), message=error.message)
        return 1
    except Exception as error:
        message = "{}: {}".format(type(error).__name__, error)
        out.emit("fatal", t=out.clock.now(), message=message)
        return 1
    return 0
