"""What became of a job: from its exit record, the lock its supervisor holds, and the boot id."""

from __future__ import annotations

import os
from typing import Any, Dict, Optional

from . import request as req
from .files import touch
from .jsonfile import read_json
from .locks import is_held
from .machine import boot_id
from .rundir import JobDir
from .watched import WATCHED


def status(request: req.Json) -> Dict[str, Any]:
    job = JobDir.of(request)
    touch(job)
    return status_of(job)


def status_of(job: JobDir) -> Dict[str, Any]:
    ended = read_json(job.file("exit.json"))
    state = "exited" if ended else "running" if is_held(job.file("alive.lock")) else None
    if state is None:
        # The record is written before the lock is let go, so a record missed above is here now.
        ended = read_json(job.file("exit.json"))
        state = "exited" if ended else None
    started = read_json(job.file("started.json"))
    return {
        "state": state or _state_without_supervisor(started),
        "started": started,
        "exit": ended,
        "heartbeat": read_json(job.file("heartbeat.json")),
        "log_bytes": _log_bytes(job),
        "boot_id": boot_id(),
        "watched": read_json(job.file(WATCHED)),
    }


def _state_without_supervisor(started: Optional[Dict[str, Any]]) -> str:
    if started is None:
        return "absent"
    return "lost" if started.get("boot_id") == boot_id() else "rebooted"


def _log_bytes(job: JobDir) -> Optional[int]:
    spec = read_json(job.file("spec.json"))
    try:
        return os.path.getsize(job.file(spec["log"])) if spec else None
    except (OSError, KeyError, TypeError):
        return None
