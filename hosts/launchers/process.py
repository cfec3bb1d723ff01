"""A detached process under the node kit's supervisor, in a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hosts.fence import Fence
from hosts.launchers.base import Request

STOP_GRACE_S = 10.0  # between TERM and KILL when the wall limit ends it; engines need a few seconds
LOGS = {"server": "server.log", "load": "load.jsonl", "gpu": "gpu.jsonl"}


@dataclass(frozen=True)
class ProcessLauncher:
    """The requests of one job. ``fence`` is the lease's claim; the node refuses older ones."""

    run: str
    attempt: str
    role: str
    fence: Fence

    @property
    def log(self) -> str:
        return LOGS[self.role]

    @property
    def log_path(self) -> str:
        return f"runs/{self.run}/{self.attempt}/{self.role}/{self.log}"

    def start_request(
        self,
        *,
        op: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        wall_s: float | None,
        files: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stop_grace_s: float = STOP_GRACE_S,
    ) -> Request:
        """``wall_s``: seconds after which the node ends the job by itself; None for no limit."""
        return {
            **self._job(),
            "op": op,
            "fence": self.fence.order(),
            "argv": list(argv),
            "env": dict(env),
            "cwd": cwd,
            "log": self.log,
            "files": dict(files or {}),
            "limits": {"wall_s": wall_s, "stop_grace_s": stop_grace_s},
        }

    def status_request(self) -> Request:
        return self._job()

    def follow_request(self, offset: int) -> Request:
        return {**self._job(), "path": self.log, "offset": offset, "wait": True}

    def stop_request(self, *, grace_s: float) -> Request:
        """Asked within ``grace_s`` seconds to end, then made to. Stopping twice is harmless."""
        return {**self._job(), "fence": self.fence.order(), "grace_s": grace_s}

    def _job(self) -> Request:
        return {"run": self.run, "attempt": self.attempt, "role": self.role}
