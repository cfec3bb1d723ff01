"""Run a command that ends when the process that started it ends.

    python -I -S tied.py PARENT_PID COMMAND...

Asks the kernel (Linux, PR_SET_PDEATHSIG) to send SIGTERM to this process when its parent is gone,
however it went, then becomes the command. A tiny program in front of the command instead of
``preexec_fn``: forking Python code in a process that has threads may lock up. Elsewhere than on
Linux nothing is tied here; the watcher (watcher.py) does it alone.
"""

from __future__ import annotations

import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def tied(command: list[str]) -> list[str]:
    """``command``, to be started by this process and to end with it."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def die_with_parent(parent_pid: int) -> None:
    """SIGTERM for this process once the parent is gone; at once if it already is."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent_pid:  # it ended before the kernel was asked
        os.kill(os.getpid(), signal.SIGTERM)


def main(arguments: list[str]) -> None:
    die_with_parent(int(arguments[0]))
    try:
        os.execvp(arguments[1], arguments[1:])
    except OSError as error:
        sys.exit(f"{arguments[1]}: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
