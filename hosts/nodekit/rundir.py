"""Where a job keeps its things: `<state root>/runs/<run>/<attempt>/<role>/`, for our user only."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from . import request as req
from .errors import BadRequest

OUR_FILES = frozenset(
    [
        "alive.lock",
        "gate.lock",
        "spec.json",
        "started.json",
        "stop.json",
        "exit.json",
        "exit.json.reserved",
        "heartbeat.json",
        "heartbeat.json.tmp",
        "log-gap.json",
        "asked",
        "supervisor.log",
        "watched.json",
    ]
)


def state_root() -> str:
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(os.path.abspath(base), "throughline")


def make_private(path: str) -> None:
    """The folder with all its parents up to the state root, each of mode 0700."""
    os.makedirs(state_root(), mode=0o700, exist_ok=True)
    if stat.S_IMODE(os.stat(state_root()).st_mode) != 0o700:
        os.chmod(state_root(), 0o700)
    os.makedirs(path, mode=0o700, exist_ok=True)


@dataclass(frozen=True)
class JobDir:
    """One job's folder by its absolute path; the folder need not exist."""

    path: str

    @classmethod
    def of(cls, request: req.Json) -> JobDir:
        names = [req.name(request, key) for key in ("run", "attempt", "role")]
        return cls(os.path.join(state_root(), "runs", *names))

    def file(self, name: str) -> str:
        return os.path.join(self.path, name)

    def inside(self, relative: str) -> str:
        """A file the job made, by its path below the job's folder. Ways out are refused."""
        path = os.path.realpath(self.file(relative))
        if os.path.isabs(relative) or not path.startswith(os.path.realpath(self.path) + os.sep):
            raise BadRequest("'path' must stay inside the job's folder")
        return path
