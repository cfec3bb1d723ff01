"""What runs on this machine, by a word in its command line."""

from __future__ import annotations

import os
from pathlib import Path

from hosts.nodekit.proc import living


def running(word: str) -> list[int]:
    """Pids of processes one of whose arguments is exactly ``word``."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and word.encode() in _arguments(name):
            found.append(int(name))
    return found


def running_below(server: int, word: str) -> list[int]:
    """Those of them that descend from the process ``server``: other tests run theirs beside."""
    parents = {process.pid: process.ppid for process in living()}

    def descends(pid: int) -> bool:
        while pid := parents.get(pid, 0):
            if pid == server:
                return True
        return False

    return [pid for pid in running(word) if descends(pid)]


def _arguments(pid: str) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []
