"""Find what a test left running: processes that name its folder."""

from __future__ import annotations

import os
from pathlib import Path

from webapp.embedded.watcher import is_running


def left_over(folder: Path) -> list[tuple[int, str]]:
    """(pid, command line) of every other running process whose words or environment name it."""
    mark = os.fsencode(folder)
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        about = Path("/proc") / name
        try:
            words = (about / "cmdline").read_bytes()
            environment = (about / "environ").read_bytes()
        except OSError:  # gone meanwhile
            continue
        if (mark in words or mark in environment) and is_running(int(name)):
            found.append((int(name), words.replace(b"\0", b" ").decode(errors="replace")))
    return found
