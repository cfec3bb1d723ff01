"""The processes at home on the demo node, however detached they are."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

TERM_S = 0.8  # of the two seconds that the whole node has to stop in
POLL_S = 0.02


def at_home(home: Path) -> list[int]:
    """Pids whose HOME is that folder. A corpse has no environment, so it is not among them."""
    mark = f"HOME={home}".encode()
    return [pid for pid in _pids() if pid != os.getpid() and mark in _environment(pid)]


def switch_off(home: Path) -> None:
    """As when a machine is shut down: TERM for everything, a moment, KILL for the rest."""
    _signal_all(at_home(home), signal.SIGTERM)
    deadline = time.monotonic() + TERM_S
    while at_home(home) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    for _ in range(3):  # again for what was just being started
        _signal_all(at_home(home), signal.SIGKILL)


def start_time(pid: int) -> int | None:
    """Field 22 of /proc/<pid>/stat; with the pid it names one process. None if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone meanwhile, or another user's
        return []


def _signal_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)
