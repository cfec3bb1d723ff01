"""Keeps a handful of processes running and ends them all, whatever happens to this one.

Every child is tied to this process by the kernel (tied.py), leads its own process group, and is on
the list of a watcher (watcher.py) that ends what is left when this process is gone. A child writes
straight into its own log file, so a slow or dead supervisor never blocks it.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from webapp.embedded import watcher
from webapp.embedded.tied import tied

FIRST_PAUSE_S = 1.0  # before a child that died is started again; doubled each time
LONGEST_PAUSE_S = 30.0
STEADY_S = 60.0  # a child that lived so long starts with the first pause again
LOG_LIMIT_BYTES = 5 * 1024 * 1024  # a longer log of an earlier start is moved aside


@dataclass(frozen=True)
class Program:
    """One child: what it is called, how it is started, where it writes."""

    name: str
    command: list[str]
    log: Path


def next_pause(pause_s: float, lived_s: float) -> float:
    """Back-off: seconds to wait after a child that had waited ``pause_s`` lived ``lived_s``."""
    if lived_s >= STEADY_S or pause_s == 0:
        return FIRST_PAUSE_S
    return min(pause_s * 2, LONGEST_PAUSE_S)


def how_it_ended(code: int) -> str:
    """Words for a return code: ``exit 3`` or ``SIGKILL``."""
    if code >= 0:
        return f"exit {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def last_line(log: Path) -> str:
    """The last line a child wrote, for the one-line message that it died."""
    lines = log.read_bytes()[-4096:].decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "(it wrote nothing)")


class Supervisor:
    """Starts programs, restarts those that die, says so, and stops them all."""

    def __init__(
        self, *, cwd: Path, environ: Mapping[str, str], node_home: Path, say: Callable[[str], None]
    ) -> None:
        self.cwd = cwd
        self.environ = dict(environ)
        self.node_home = str(node_home)
        self.say = say
        self.stopping = False
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._watcher: subprocess.Popen[bytes] | None = None

    def watch(self, *, keep_open: tuple[int, ...] = ()) -> None:
        """Start the watcher; it also holds the descriptors in ``keep_open`` until it is done."""
        self._watcher = subprocess.Popen(
            [sys.executable, "-I", "-S", watcher.__file__, self.node_home],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=keep_open,
        )

    def start(self, program: Program) -> None:
        """Start ``program`` now and keep it running from then on."""
        process = self._spawn(program)
        self._tasks.append(asyncio.create_task(self._keep(program, process), name=program.name))

    async def _keep(self, program: Program, process: subprocess.Popen[bytes]) -> None:
        pause_s = 0.0
        while True:
            started = time.monotonic()
            code = await _ended(process)
            self._forget(program, process)
            if self.stopping:
                return
            pause_s = next_pause(pause_s, time.monotonic() - started)
            self.say(
                f"{program.name} ended ({how_it_ended(code)}), starting it again in {pause_s:g} s. "
                f"{program.log}: {last_line(program.log)}"
            )
            await asyncio.sleep(pause_s)
            process = self._spawn(program)

    def _spawn(self, program: Program) -> subprocess.Popen[bytes]:
        with program.log.open("ab") as output:
            process = subprocess.Popen(
                tied(program.command),
                cwd=self.cwd,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.running[program.name] = process
        self._tell(f"+{process.pid}")
        return process

    def _forget(self, program: Program, process: subprocess.Popen[bytes]) -> None:
        """Its group may hold children of its own (a worker's pool): they end with it."""
        watcher.signal_groups([process.pid], signal.SIGKILL)
        del self.running[program.name]
        self._tell(f"-{process.pid}")

    def _tell(self, line: str) -> None:
        if self._watcher is None or self._watcher.stdin is None:
            raise RuntimeError("watch() comes before the first start")
        with contextlib.suppress(OSError):  # killed by hand; the kernel's tie still holds
            self._watcher.stdin.write(line.encode() + b"\n")
            self._watcher.stdin.flush()

    async def stop(self, grace_s: float = watcher.GRACE_S) -> None:
        """SIGTERM for all, SIGKILL after ``grace_s``, then the watcher's own round."""
        self.stopping = True
        for task in self._tasks:
            if task.get_name() not in self.running:
                task.cancel()  # it waits to start its child again: not while the rest is ended
        groups = [process.pid for process in self.running.values()]
        await asyncio.to_thread(watcher.end_groups, groups, grace_s)
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._watcher is not None and self._watcher.stdin is not None:
            self._watcher.stdin.close()
            await asyncio.to_thread(self._watcher.wait)


async def _ended(process: subprocess.Popen[bytes]) -> int:
    """Its return code, by polling: no pipe or child watcher whose end a grandchild could delay."""
    while (code := process.poll()) is None:
        await asyncio.sleep(watcher.POLL_S)
    return code


def move_aside(log: Path) -> None:
    """Keep one earlier log when it has grown long."""
    if log.exists() and log.stat().st_size > LOG_LIMIT_BYTES:
        log.replace(log.with_suffix(".log.1"))
