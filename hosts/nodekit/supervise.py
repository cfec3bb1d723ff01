"""The supervisor: one process per job, which outlives every link and keeps the job's truth.

It holds `alive.lock` for its whole life, starts the program, ends it with everything it forked
when asked (SIGTERM) or when its time is up, and writes the exit record before it lets go.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from . import proc
from .errors import KitError
from .failpoints import failpoint
from .jsonfile import read_json, reserve, write_json, write_reserved
from .locks import take
from .machine import boot_id
from .rundir import JobDir
from .spawn import Program, spawn
from .watch import Watch, disk_free, is_full

ASKED = frozenset([signal.SIGTERM, signal.SIGINT])
WATCHED = ASKED | {signal.SIGCHLD, signal.SIGHUP}
LOCK_WAIT_S = 2.0  # `status` looks at the lock for microseconds at a time


def main(job_path: str, report_fd: int) -> int:
    """`supervise JOB_DIR FD`, the job's specification on stdin; called by `start` only."""
    spec = json.loads(sys.stdin.buffer.read())
    os.set_inheritable(report_fd, False)
    if os.fork():
        os._exit(0)  # whoever called us has no child to wait for, and we lead no session
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    Supervisor(JobDir(job_path), spec, report_fd).run()
    return 0


@dataclass(frozen=True)
class End:
    reason: str
    status: int  # as waitpid gives it


class Supervisor:
    def __init__(self, job: JobDir, spec: Dict[str, Any], report_fd: int) -> None:
        self.job = job
        self.spec = spec
        self.report_fd = report_fd
        self.pid = 0
        self.status: Optional[int] = None
        self.watch = Watch(job, spec)

    def run(self) -> None:
        alive = take(self.job.file("alive.lock"), LOCK_WAIT_S)
        if alive is None or read_json(self.job.file("started.json")):
            self._report({"outcome": "already-started"})
            return
        failpoint("supervise.locked")
        proc.become_subreaper()
        old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
        try:
            reserve(self.job.file("exit.json"))
            self.pid = spawn(self._program(), set(map(signal.Signals, old_mask)), self._record)
        except (KitError, OSError) as error:
            self._forget()
            os.close(alive)  # before the answer: whoever hears it finds nothing that lives
            self._report({"error": {"code": "cannot-start", "message": str(error)}})
            return
        failpoint("supervise.spawned")
        self._report({"outcome": "started"})
        failpoint("supervise.watching")
        end = self._until_the_end()
        failpoint("supervise.before-exit-record")
        self._write_exit(end)
        failpoint("supervise.exit-recorded")
        os.close(alive)

    def _program(self) -> Program:
        spec = self.spec
        env = {**os.environ, **spec["env"], proc.MARK: self.job.path}
        return Program(spec["argv"], env, spec["cwd"], self.job.file(spec["log"]))

    def _record(self, pid: int) -> None:
        us, child = proc.look(os.getpid()), proc.look(pid)
        argv = "\0".join(self.spec["argv"]).encode("utf-8", "surrogateescape")
        record = {
            "supervisor_pid": os.getpid(),
            "supervisor_start_time": us.start_time if us else None,
            "pid": pid,
            "pgid": pid,
            "start_time": child.start_time if child else None,
            "boot_id": boot_id(),
            "at": time.time(),
            "argv_sha256": hashlib.sha256(argv).hexdigest(),
            "kit": os.path.basename(sys.argv[0]),  # a newer one may come before the job has ended
        }
        failpoint("supervise.before-started")
        write_json(self.job.file("started.json"), record)

    def _forget(self) -> None:
        for name in ("started.json", "exit.json.reserved"):
            try:
                os.unlink(self.job.file(name))
            except FileNotFoundError:
                pass  # it failed before that one was written

    def _report(self, answer: Dict[str, Any]) -> None:
        try:
            os.write(self.report_fd, json.dumps(answer).encode())
        except BrokenPipeError:
            pass  # whoever started us is gone; the records tell the same
        os.close(self.report_fd)

    def _until_the_end(self) -> End:
        reason = self._watch()
        asked = read_json(self.job.file("stop.json")) or {}
        grace = asked.get("grace_s", self.spec["limits"]["stop_grace_s"])
        # Also after an exit of its own: what the program forked must not keep the GPU.
        proc.end_all(self._members, grace, self._pause)
        self._reap()
        if self.status is None:  # it sits in the kernel and cannot die; say so, and do not hang
            return End(reason, -1)
        return End(reason, self.status)

    def _watch(self) -> str:
        """Until the program has ended, we are asked to end it, or a limit is reached."""
        while True:
            self._reap()
            if self.status is not None:
                return self._how_it_exited()
            reached = self.watch.look()
            if reached is not None:
                return reached
            got = signal.sigtimedwait(WATCHED, self.watch.pause())
            if got is not None and got.si_signo in ASKED:
                self._reap()
                return "stopped" if self.status is None else self._how_it_exited()

    def _how_it_exited(self) -> str:
        """A program that fails on a full disk has failed of that, whatever it says itself."""
        return "disk-full" if self.status and is_full(self.job.path) else "exited"

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.pid:
                self.status = status

    def _pause(self, seconds: float) -> None:
        signal.sigtimedwait([signal.SIGCHLD], seconds)
        self._reap()

    def _members(self) -> List[proc.Process]:
        processes = proc.living()
        ours = proc.below(os.getpid(), processes)
        return [p for p in processes if p.pid in ours or self.pid in (p.sid, p.pgid)]

    def _write_exit(self, end: End) -> None:
        size, digest = self.watch.cap.size_and_sha256()
        code = os.WEXITSTATUS(end.status) if end.status >= 0 and os.WIFEXITED(end.status) else None
        killed = end.status >= 0 and os.WIFSIGNALED(end.status)
        record = {
            "code": code,
            "signal": os.WTERMSIG(end.status) if killed else None,
            "reason": "signalled" if killed and end.reason == "exited" else end.reason,
            "at": time.time(),
            "log_bytes": size,
            "log_sha256": digest,
            "disk_free": disk_free(self.job.path),
            "survivors": [process.pid for process in self._members()][:20],
        }
        write_reserved(self.job.file("exit.json"), record)
