"""Sees to it that nothing of the demo outlives its supervisor, not even a SIGKILL of it.

    python -I -S watcher.py NODE_HOME

Reads "+PGID" and "-PGID" lines from stdin. When stdin ends the supervisor is gone: every group
still on the list gets SIGTERM, then SIGKILL, and so does every process at home on the demo node
(what runs there is detached on purpose; the node going away is its machine going away). Uses
nothing but the standard library, so that it starts in 20 ms and cannot be broken by the product.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

GRACE_S = 4.0  # uvicorn gives open streams two seconds; workers are idempotent and may be cut
POLL_S = 0.05


def at_home(home: str) -> list[int]:
    """Processes of this user whose HOME is that folder: whatever was started on the demo node."""
    mark = b"HOME=" + os.fsencode(home)
    return [pid for pid in _processes() if mark in _environment(pid)]


def _processes() -> list[int]:
    """None where there is no /proc; then only the groups are ended."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except FileNotFoundError:
        return []


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone meanwhile, or another user's
        return []


def is_running(pid: int) -> bool:
    """Whether the process is there and not a corpse waiting to be reaped."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


def group_is_running(pgid: int) -> bool:
    """Whether the group has a member that is not a corpse."""
    for pid in _processes():
        with contextlib.suppress(OSError):
            if os.getpgid(pid) == pgid and is_running(pid):
                return True
    return False


def signal_groups(pgids: Iterable[int], number: signal.Signals) -> None:
    for pgid in pgids:
        with contextlib.suppress(OSError):
            os.killpg(pgid, number)


def end_groups(pgids: Iterable[int], grace_s: float) -> None:
    """SIGTERM for all at once, SIGKILL for what is still there after ``grace_s`` seconds."""
    left = set(pgids)
    signal_groups(left, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while left and time.monotonic() < deadline:
        time.sleep(POLL_S)
        left = {pgid for pgid in left if group_is_running(pgid)}
    signal_groups(left, signal.SIGKILL)


def end_node(home: str) -> None:
    """Switch the demo node's machine off: no grace, and again for what was just being started."""
    for _ in range(3):
        found = at_home(home)
        if not found:
            return
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(POLL_S)


def watch(home: str, grace_s: float = GRACE_S) -> None:
    """Keep the list until the supervisor is gone, then end what is on it."""
    groups: set[int] = set()
    for line in sys.stdin:
        if line.startswith("+"):
            groups.add(int(line[1:]))
        else:
            groups.discard(int(line[1:]))
    end_groups(groups, grace_s)
    end_node(home)


if __name__ == "__main__":
    # It must outlive whoever is told to stop; the end of stdin is its only signal.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    watch(sys.argv[1])
