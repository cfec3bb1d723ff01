"""Whose a process is: its name, its user, and whether it belongs to a run's own server."""

from __future__ import annotations

import os
import pwd
from typing import List, Optional

from . import proc

GENERATIONS = 64  # of parents looked at; more would be a loop


def name_of(pid: int) -> Optional[str]:
    process = proc.look(pid)
    return process.name if process else None


def user_of(pid: int) -> Optional[str]:
    try:
        uid = os.stat("/proc/{}".format(pid)).st_uid
    except OSError:
        return None  # gone, or of another pid namespace
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return "uid {}".format(uid)


def job_of(pid: int) -> Optional[str]:
    """The folder of the job that started it, if one of ours did and its environment tells."""
    try:
        with open("/proc/{}/environ".format(pid), "rb") as file:
            pairs = file.read().split(b"\0")
    except OSError:
        return None
    mark = os.fsencode(proc.MARK + "=")
    return next((os.fsdecode(pair[len(mark) :]) for pair in pairs if pair.startswith(mark)), None)


class Ours:
    """Tells a run's processes from strangers.

    `roots` are the server's process or processes; `job_path` is the folder of the server's job.
    `by_unit`: the server lives in a service or container of its own, all of which is ours.
    """

    def __init__(self, roots: List[int], job_path: str, by_unit: bool) -> None:
        self.roots = roots
        self.job_path = job_path
        units = (_unit(pid) for pid in roots if by_unit)
        self.units = {unit for unit in units if unit is not None}

    def has(self, pid: int) -> Optional[bool]:
        """None for a process that cannot be seen from here, as in another pid namespace."""
        process = proc.look(pid)
        if process is None:
            return None
        if process.sid in self.roots or process.pgid in self.roots or self._descends(pid):
            return True
        in_unit = bool(self.units) and _unit(pid) in self.units
        return in_unit or proc.bears_mark(pid, self.job_path)

    def _descends(self, pid: int) -> bool:
        for _ in range(GENERATIONS):
            if pid in self.roots:
                return True
            process = proc.look(pid)
            if process is None or process.ppid <= 1:
                return False
            pid = process.ppid
        return False


def _unit(pid: int) -> Optional[str]:
    """The control group of a service or container; that of a login holds whatever it started."""
    try:
        with open("/proc/{}/cgroup".format(pid)) as file:
            paths = [line.rstrip("\n").rpartition(":")[2] for line in file]
    except OSError:
        return None
    for path in paths:
        last = path.rpartition("/")[2]
        if last.endswith(".service") and not last.startswith("user@"):
            return path
        if last.startswith(("docker-", "libpod-", "cri-containerd-")):
            return path
    return None
