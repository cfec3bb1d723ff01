"""The real processes: conductor and Celery worker on the test's database, killed as one likes."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from django.db import connection
from django.db.models import Sum

from hosts.nodekit.failpoints import VARIABLE
from runs.models import LogStream, Operation, Run
from webapp.durations import Durations
from webapp.embedded import commands

ROOT = Path(__file__).resolve().parents[2]
SCALE = 0.1  # claims of three seconds, heartbeats of one
WAIT_S = 90.0
RECOVERY_S = 60.0  # a run goes on by then after any of our processes was killed, at full scale
SILENCE_S = Durations().claim + Durations().bell  # of which so much is waiting, the rest is work


def database_url() -> str:
    told = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{told['NAME']}"
    return f"postgres://{told['USER']}@{told['HOST'].replace('/', '%2F')}/{told['NAME']}"


def may_write() -> bool:
    """Whether nobody holds the database's only pen; PostgreSQL has many."""
    if connection.vendor != "sqlite":
        return True
    pen = sqlite3.connect(connection.settings_dict["NAME"], timeout=0.5, isolation_level=None)
    with closing(pen):
        try:
            pen.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        pen.execute("ROLLBACK")
    return True


@dataclass
class Started:
    """A process and what it has written; its group is its own."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def last_words(self) -> str:
        """What it said at the end; a worker's every sign of life would drown the rest."""
        lines = self.said().splitlines()
        return "\n".join(line for line in lines if "answer_canary" not in line)[-3000:]

    def signal(self, number: int) -> None:
        """To all of it: a worker has a pool below itself."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass  # it has ended already

    def suspend(self) -> None:
        """SIGSTOP, but not in the middle of a write: SQLite has one writer, and all would wait."""
        self.signal(signal.SIGSTOP)
        while not may_write():
            self.signal(signal.SIGCONT)
            time.sleep(0.05)
            self.signal(signal.SIGSTOP)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.process.wait()

    def end(self, seconds: float = 20.0) -> float:
        """SIGTERM to the process itself; how long it took to go."""
        begun = time.monotonic()
        self.process.terminate()
        try:
            self.process.wait(seconds)
        finally:
            self.kill()
        return time.monotonic() - begun


@dataclass
class Stack:
    folder: Path
    redis_url: str
    scale: float = SCALE
    started: list[Started] = field(default_factory=list)

    def conductor(self, armed: str = "", name: str = "") -> Started:
        command = [*commands.conductor(sys.executable), *(["--name", name] if name else [])]
        return self._start("conductor", command, armed)

    def worker(self, armed: str = "", name: str = "w") -> Started:
        command = [*commands.worker(sys.executable), "--hostname", f"{name}@%h"]
        return self._start("worker", command, armed)

    def web(self, port: int, armed: str = "") -> Started:
        """Pages at ``http://127.0.0.1:port``; they are not waited for."""
        return self._start("web", commands.web(sys.executable, host="127.0.0.1", port=port), armed)

    def _start(self, name: str, command: list[str], armed: str) -> Started:
        log = self.folder / f"{name}-{len(self.started)}.log"
        environ = {
            **os.environ,
            "DATABASE_URL": database_url(),
            "REDIS_URL": self.redis_url,
            "THROUGHLINE_TIME_SCALE": str(self.scale),
            VARIABLE: armed,
        }
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        self.started.append(Started(name, process, log))
        return self.started[-1]

    def close(self) -> None:
        for each in self.started:
            each.kill()

    def full(self, seconds: float) -> float:
        """What a recovery takes at full scale: its waits are scaled here, its work is not."""
        return seconds + SILENCE_S * (1 - self.scale)

    def words(self) -> str:
        """Where the runs stand and the last of what everybody said; for a test that failed."""
        said = [f"-- {each.log.name}\n{each.last_words()}" for each in self.started]
        return "\n".join([*map(standing, Run.objects.all()), *said])

    def until(self, what: str, look: Callable[[], object], seconds: float = WAIT_S) -> None:
        deadline = time.monotonic() + seconds
        while not look():
            assert time.monotonic() < deadline, f"never {what}\n{self.words()}"
            time.sleep(0.05)

    def until_state(self, run: Run, state: str) -> Run:
        self.until(f"{state} ({run})", lambda: state_of(run) == state)
        return Run.objects.get(pk=run.pk)

    def until_final(self, run: Run, seconds: float = WAIT_S) -> Run:
        self.until(f"ended: {run}", lambda: Run.objects.get(pk=run.pk).is_final, seconds)
        return Run.objects.get(pk=run.pk)


def standing(run: Run) -> str:
    """The run, its operations and its logs in a few lines."""
    operations = Operation.objects.filter(attempt__run=run).order_by("pk")
    streams = LogStream.objects.filter(attempt__run=run)
    return "\n  ".join([
        f"{run}: {run.state}, link {run.link or 'ok'}, claim {run.claim_holder} {run.claim_epoch}",
        *(f"{each.kind} {each.n}: {each.state} {each.reason} {each.error}" for each in operations),
        *(f"{each.role}: {each.position} bytes" for each in streams),
    ])  # fmt: skip


def state_of(run: Run) -> str:
    return Run.objects.values_list("state", flat=True).get(pk=run.pk)


def told_of(run: Run) -> tuple[object, ...]:
    """What only a conductor moves: the state, the operations planned, the bytes stored."""
    stored = LogStream.objects.filter(attempt__run=run).aggregate(Sum("position"))
    planned = Operation.objects.filter(attempt__run=run).count()
    return (state_of(run), planned, stored["position__sum"])


def done_of(run: Run) -> tuple[object, ...]:
    """What only a worker moves, and the end."""
    done = Operation.objects.filter(attempt__run=run, state=Operation.State.DONE).count()
    return (done, Run.objects.get(pk=run.pk).is_final)
