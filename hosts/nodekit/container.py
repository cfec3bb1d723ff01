"""A container that somebody else runs: who it is, and its log as docker or podman gives it."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import time
from typing import Any, Dict, List, Optional

from . import request as req
from .errors import BadRequest, KitError
from .spool import Spool

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
ENGINES = ("docker", "podman")
ANSWER_S = 15.0
STAMP = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9]{2}:[0-9]{2}) ")


def engine(request: req.Json) -> str:
    value = req.text(request, "engine")
    if value not in ENGINES:
        raise BadRequest("'engine' must be docker or podman")
    return value


def container_name(request: req.Json) -> str:
    value = req.text(request, "name")
    if not NAME.fullmatch(value):
        raise BadRequest("{!r} is no name of a container".format(value))
    return value


def inspect(engine: str, name: str) -> Dict[str, Any]:
    """Id, pid, start and end of the container; raises KitError when the login may not ask."""
    words = [engine, "inspect", "--type", "container", "--", name]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=ANSWER_S, check=False,
        )  # fmt: skip
        told = json.loads(done.stdout)[0] if done.returncode == 0 else None
    except FileNotFoundError:
        raise KitError("no-container", "There is no {} on this node.".format(engine)) from None
    except (subprocess.TimeoutExpired, ValueError, IndexError):
        told, done = None, subprocess.CompletedProcess(words, 1, b"", b"no answer")
    if not isinstance(told, dict):
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[:300]
        raise KitError("no-container", "{} inspect {}: {}".format(engine, name, said))
    state = told.get("State") or {}
    return {
        "id": told.get("Id"),
        "running": bool(state.get("Running")),
        "pid": state.get("Pid"),
        "started_at": state.get("StartedAt"),
        "exit_code": state.get("ExitCode"),
        "oom_killed": bool(state.get("OOMKilled")),
        "restarts": told.get("RestartCount"),
    }


class ContainerLog:
    """`logs -f`, with time stamps so that it can be taken up again; the spool has none of them."""

    def __init__(self, engine: str, name: str, spool: Spool, *, skip: bool) -> None:
        self._words = [engine, "logs", "--follow", "--timestamps"]
        self._name = name
        self._spool = spool
        self._since = _now() if skip else ""
        self._newest = b""
        self._known = b""  # the newest stamp of an earlier `logs`: it sends that again
        self._rest = b""
        self._process: Optional["subprocess.Popen[bytes]"] = None
        self.copied = 0

    def read(self, *, last: bool = False) -> bool:
        if self._process is None:
            self._process = self._open()
        before = self.copied
        ended = self._drain(self._process)
        if ended and not last:
            self.close()
            self._process, self._known = None, self._newest  # taken up again with the next look
        if last:
            self.close()
        return self.copied > before

    def _open(self) -> "subprocess.Popen[bytes]":
        since = ["--since", self._since] if self._since else []
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [*self._words, *since, "--", self._name],
            stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert process.stdout is not None
        flags = fcntl.fcntl(process.stdout, fcntl.F_GETFL)
        fcntl.fcntl(process.stdout, fcntl.F_SETFL, flags | os.O_NONBLOCK)
        return process

    def _drain(self, process: "subprocess.Popen[bytes]") -> bool:
        """Take what there is; True at the end of its output."""
        assert process.stdout is not None
        while True:
            try:
                data = os.read(process.stdout.fileno(), 256 * 1024)
            except BlockingIOError:
                return False
            if not data:
                self._take([self._rest] if self._rest else [])
                self._rest = b""
                return True
            lines = (self._rest + data).split(b"\n")
            self._rest = lines.pop()
            self._take(lines)

    def _take(self, lines: List[bytes]) -> None:
        fresh = []
        for line in lines:
            stamp = STAMP.match(line)
            if stamp is None:
                fresh.append(line + b"\n")
                continue
            if stamp.group() <= self._known:
                continue
            self._newest = max(self._newest, stamp.group())
            self._since = self._newest.decode().strip()
            fresh.append(line[stamp.end() :] + b"\n")
        data = b"".join(fresh)
        self.copied += len(data)
        self._spool.lines(data)

    def close(self) -> None:
        if self._process is not None:
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process.kill()
            self._process.wait()


def _now() -> str:
    return "{:.6f}".format(time.time())
