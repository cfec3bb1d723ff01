"""End a job with everything it forked, as often as anyone likes to ask."""

from __future__ import annotations

import os
import signal
import time
from typing import Any, Dict, List, Optional

from . import fence, proc
from . import request as req
from .failpoints import failpoint
from .jsonfile import read_json, write_json
from .locks import exclusive, is_held
from .machine import boot_id
from .rundir import JobDir, make_private
from .start import GATE_WAIT_S
from .status import status_of
from .watched import WATCHED

BEYOND_GRACE_S = 10.0
POLL_S = 0.05


def stop(request: req.Json) -> Dict[str, Any]:
    job = JobDir.of(request)
    grace_s = req.seconds(request, "grace_s")
    before = _ask(job, request, grace_s)
    if before == "running":
        _wait_until_let_go(job, grace_s + BEYOND_GRACE_S)
    failpoint("stop.waited")
    now = status_of(job)
    found = [] if now["state"] in ("absent", "running") else _leftovers(job, now["started"])
    clean = not found or proc.end_all(lambda: _leftovers(job, now["started"]), grace_s)
    clean = _let_go(job, now) and clean
    return {"outcome": _outcome(before, now["state"], bool(found), clean), "status": now}


def _let_go(job: JobDir, now: Dict[str, Any]) -> bool:
    """Of a unit whose keeper could not do it: killed, or gone with a reboot."""
    told = read_json(job.file(WATCHED))
    if now["state"] == "running" or told is None or told["launcher"] != "systemd":
        return True
    from .unitserver import release

    still_runs = release(told)
    write_json(job.file(WATCHED), told)
    now["watched"] = told
    return not still_runs


def _ask(job: JobDir, request: req.Json, grace_s: float) -> str:
    """The state before; a running supervisor has been asked to stop.

    No start gets in between, nor after: an order to start may still be on its way.
    """
    with fence.admitted(request):
        make_private(job.path)
    with exclusive(job.file("gate.lock"), GATE_WAIT_S), fence.admitted(request):
        state = str(status_of(job)["state"])
        if state in ("running", "absent"):
            try:
                write_json(job.file("stop.json"), {"grace_s": grace_s, "at": time.time()})
            except OSError:
                pass  # a full disk: it is stopped all the same, with the grace of its start
        if state == "running":
            failpoint("stop.before-signal")
            _signal_supervisor(read_json(job.file("started.json")))
        return state


def _signal_supervisor(started: Optional[Dict[str, Any]]) -> None:
    pid = started["supervisor_pid"] if started else 0
    process = proc.look(pid)
    if started is None or process is None or pid <= 1:
        return  # it has just ended
    if process.start_time == started["supervisor_start_time"]:
        os.kill(pid, signal.SIGTERM)


def _wait_until_let_go(job: JobDir, wait_s: float) -> None:
    deadline = time.monotonic() + wait_s
    while is_held(job.file("alive.lock")) and time.monotonic() < deadline:
        time.sleep(POLL_S)


def _leftovers(job: JobDir, started: Optional[Dict[str, Any]]) -> List[proc.Process]:
    """What lives of a job that has no supervisor any more.

    The session is trusted only while its leader is the very process we started (its number may
    have been given away since); everyone else must bear the job's mark.
    """
    if started is None or started.get("boot_id") != boot_id():
        return []
    pid = started["pid"]
    leader = proc.look(pid)
    ours = pid > 1 and leader is not None and leader.start_time == started["start_time"]
    return [
        process
        for process in proc.living()
        if process.pid not in (os.getpid(), 1, started["supervisor_pid"])
        and (
            (ours and pid in (process.pgid, process.sid)) or proc.bears_mark(process.pid, job.path)
        )
    ]


def _outcome(before: str, after: str, found: bool, clean: bool) -> str:
    if after == "running" or not clean:
        return "still-running"
    if before == "absent":
        return "absent"
    return "stopped" if before == "running" or found else "already-exited"
