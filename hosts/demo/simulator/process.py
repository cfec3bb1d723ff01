"""The scheduler as a process of its own, and the ways the family of processes ends.

SGLang's scheduler is a child process, and tests kill it; so there is one here too. It does
nothing but wait for its parent's end, which it learns from a pipe; the steps run in the parent.
"""

from __future__ import annotations

import os
import signal
import sys

from .output import Log

CHILD_NAME = "sglang::schedul"  # the kernel keeps 15 characters


class SchedulerProcess:
    """A forked child that ends with its parent."""

    def __init__(self, pid: int, lifeline: int) -> None:
        self.pid = pid
        self._lifeline = lifeline  # held open: its end of file is the child's signal to leave
        self.exit_code: int | None = None

    @classmethod
    def start(cls) -> SchedulerProcess:
        """Fork; call it before there is an event loop or a second thread."""
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            os.close(writing)
            _wait_for_parent(reading)
        os.close(reading)
        return cls(pid, writing)

    def poll(self) -> int | None:
        """Its exit code once it has ended, negative for a signal."""
        if self.exit_code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid and os.WIFSIGNALED(status):
                self.exit_code = -os.WTERMSIG(status)
            elif pid:
                self.exit_code = os.WEXITSTATUS(status)
        return self.exit_code

    def kill(self) -> None:
        """SIGKILL, unless it has been waited for already (its number could be another's)."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
            self.exit_code = -os.WTERMSIG(status)

    def end(self) -> None:
        """Let it go and wait for it."""
        if self.poll() is None:
            os.close(self._lifeline)
            os.waitpid(self.pid, 0)
            self.exit_code = 0


def _wait_for_parent(reading: int) -> None:
    # The group's SIGTERM is for the parent, which ends this process in its own order.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        with open("/proc/self/comm", "w") as name:
            name.write(CHILD_NAME)
    except OSError:
        pass  # no /proc: the process keeps its name
    os.read(reading, 1)
    os._exit(0)


def kill_family(log: Log, child: SchedulerProcess) -> None:
    """How SGLang leaves, after a crash and after a clean stop alike: SIGKILL to all, itself too."""
    pid = os.getpid()
    log.info(f"kill_process_tree called: parent_pid={pid}, include_parent=True, pid={pid}")
    child.kill()
    os.kill(pid, signal.SIGKILL)
