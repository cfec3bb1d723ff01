"""Looking at processes through /proc, and ending sets of them."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from dataclasses import dataclass
from typing import Callable, Dict, Iterable, List, Optional, Set

# A process started under the supervisor carries this, so that it is known as ours even after
# it left its session and lost its parents.
MARK = "THROUGHLINE_JOB"
KILL_WAIT_S = 8.0  # a killed process may still sit in a driver call; `stop` waits ten seconds
POLL_S = 0.1
PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Process:
    pid: int
    name: str
    state: str
    ppid: int
    pgid: int
    sid: int
    start_time: int  # clock ticks after boot: with the pid it names a process for good


def look(pid: int) -> Optional[Process]:
    """One process, or None when there is none of this number."""
    try:
        with open("/proc/{}/stat".format(pid), "rb") as file:
            line = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    # The name stands in brackets and may itself hold brackets and blanks.
    name = line[line.index("(") + 1 : line.rindex(")")]
    rest = line[line.rindex(")") + 2 :].split()
    ppid, pgid, sid = int(rest[1]), int(rest[2]), int(rest[3])
    return Process(pid, name, rest[0], ppid, pgid, sid, int(rest[19]))


def unit_of(pid: int) -> Optional[str]:
    """The service whose control group the process is in; anybody may read that."""
    try:
        with open("/proc/{}/cgroup".format(pid)) as file:
            paths = [line.strip().split(":", 2)[2] for line in file]
    except (OSError, IndexError):
        return None
    named = [part for path in paths for part in path.split("/") if part.endswith(".service")]
    return named[-1] if named else None


def living() -> List[Process]:
    """Every process but zombies, which hold nothing and cannot be killed."""
    found = (look(int(entry)) for entry in os.listdir("/proc") if entry.isdigit())
    return [process for process in found if process and process.state not in "ZX"]


def below(root: int, processes: Iterable[Process]) -> Set[int]:
    """The pids of all descendants of `root`."""
    children: Dict[int, List[int]] = {}
    for process in processes:
        children.setdefault(process.ppid, []).append(process.pid)
    found: Set[int] = set()
    todo = [root]
    while todo:
        for pid in children.get(todo.pop(), []):
            if pid not in found:
                found.add(pid)
                todo.append(pid)
    return found


def bears_mark(pid: int, job_path: str) -> bool:
    """Whether a process is the job's by its environment, or by writing into the job's folder.

    The second is for programs that rename themselves and so overwrite their environment.
    """
    try:
        with open("/proc/{}/environ".format(pid), "rb") as file:
            if os.fsencode("{}={}".format(MARK, job_path)) in file.read().split(b"\0"):
                return True
    except OSError:
        return False
    return any(_points_into(pid, fd, job_path) for fd in (1, 2))


def _points_into(pid: int, fd: int, job_path: str) -> bool:
    try:
        return os.readlink("/proc/{}/fd/{}".format(pid, fd)).startswith(job_path + os.sep)
    except OSError:
        return False


def end_all(
    find: Callable[[], List[Process]],
    grace_s: float,
    pause: Callable[[float], None] = time.sleep,
) -> bool:
    """TERM, up to `grace_s` of patience, then KILL, until `find` finds nothing.

    Found again before each blow, so that what was forked meanwhile does not get away.
    Returns whether nothing is left.
    """
    _signal(find(), signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while find() and time.monotonic() < deadline:
        pause(min(POLL_S, max(0.0, deadline - time.monotonic())))
    deadline = time.monotonic() + KILL_WAIT_S
    while True:
        left = find()
        if not left or time.monotonic() > deadline:
            return not left
        _signal(left, signal.SIGKILL)
        pause(POLL_S / 5)


def _signal(processes: Iterable[Process], number: int) -> None:
    for process in processes:
        now = look(process.pid)
        # Never 0 or 1, which would mean everyone; never a stranger who got the number since.
        if process.pid > 1 and now is not None and now.start_time == process.start_time:
            try:
                os.kill(process.pid, number)
            except (ProcessLookupError, PermissionError):
                pass  # gone already, or never ours to end: `find` tells whether it is left


def become_subreaper() -> bool:
    """Orphans below us become our children instead of init's. False where Linux has it not."""
    try:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
    except (OSError, AttributeError):
        return False
    return bool(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
