"""What the supervisor looks at while its program runs: time, output, disk, and who still asks."""

from __future__ import annotations

import json
import os
import time
from typing import Any, Dict, Optional

from .files import touched
from .logcap import LogCap
from .rundir import JobDir

LOOK_EVERY_S = 1.0  # a lost SIGCHLD costs this much, nothing more
BEAT_EVERY_S = 2.0
FULL_BYTES = 64 * 1024  # with less free than this, lines of the log are missing already


def disk_free(path: str) -> Optional[int]:
    """Bytes that this user may still write there; None when nobody can tell."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


class Watch:
    """`look` says why the program has to end, or None. Limits that are null are not kept."""

    def __init__(self, job: JobDir, spec: Dict[str, Any]) -> None:
        now = time.monotonic()
        self.job = job
        self.limits: Dict[str, Optional[float]] = spec["limits"]
        self.log = job.file(spec["log"])
        self.cap = LogCap(job, self.log, spec["limits"].get("log_bytes"))
        self.begun = self.grown = self.asked = now
        self.size = 0
        self.ask_mark: Optional[float] = None
        self.beats = 0

    def look(self) -> Optional[str]:
        now = time.monotonic()
        self._note_growth(now)
        if now >= self.begun + self.beats * BEAT_EVERY_S:
            self._beat(now)
        for name, since in (("wall", self.begun), ("stall", self.grown), ("deadman", self.asked)):
            limit = self.limits.get(name + "_s")
            if limit is not None and now - since >= limit:
                return name + "-limit"
        if is_full(self.job.path):
            return "disk-full"
        self.cap.look(self.size)
        return None

    def pause(self) -> float:
        """Seconds until the next look is due: never later than the wall limit."""
        wall = self.limits.get("wall_s")
        left = LOOK_EVERY_S if wall is None else self.begun + wall - time.monotonic()
        return max(0.0, min(LOOK_EVERY_S, left))

    def _note_growth(self, now: float) -> None:
        try:
            size = os.path.getsize(self.log)
        except OSError:
            size = self.size  # taken away: it grows no more
        if size != self.size:
            self.size, self.grown = size, now
        mark = touched(self.job)
        if mark != self.ask_mark:
            self.ask_mark, self.asked = mark, now

    def _beat(self, now: float) -> None:
        self.beats += 1
        beat = {
            "n": self.beats,
            "monotonic": now,
            "at": time.time(),
            "silent_s": now - self.grown,
            "disk_free": disk_free(self.job.path),
            "log_bytes": self.size,
        }
        temporary = self.job.file("heartbeat.json.tmp")
        try:
            # not synced: after a power cut nobody needs it
            with open(temporary, "w", opener=_private) as file:
                json.dump(beat, file)
            os.rename(temporary, self.job.file("heartbeat.json"))
        except OSError:
            pass  # a full disk is told by the exit record, which has its block


def is_full(path: str) -> bool:
    free = disk_free(path)
    return free is not None and free < FULL_BYTES


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
