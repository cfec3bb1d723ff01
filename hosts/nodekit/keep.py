"""The program of a server job whose server is not our child: a unit, or one that runs already.

`keep SPEC` runs under the supervisor as any job does. It sees to its server (watched.py) and copies
its log into the job's log. It leaves, with what it saw in `watched.json`, when the server
has ended, has become another one, or when the job is asked to stop. So a server that lives
elsewhere is started once, fenced, followed, proved whole and stopped by the same commands as ours.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Any, Dict, Optional, Protocol

from .attached import Attached
from .container import ContainerLog, container_name, engine
from .errors import BadRequest, KitError
from .journal import Journal
from .jsonfile import read_json, write_json
from .logfile import LogFile
from .spool import Spool
from .unitserver import UnitServer
from .watched import WATCHED, End, Server

LOOK_S = 0.5
SHARE = 20.0  # a look may take one part in so many of the time
SETTLE_S = 1.5  # what was written is in the journal a moment later
SETTLE_MOST_S = 15.0


class Source(Protocol):
    def read(self, *, last: bool = False) -> bool:
        """Copy what is new; whether there was something."""


class JournalOf:
    """The journal of whatever invocations the server has had; ``skip`` what the first one said."""

    def __init__(self, spool: Spool, server: Server, *, skip: bool) -> None:
        self._server = server
        self._journal = Journal(spool)
        self._skip = skip

    def read(self, *, last: bool = False) -> bool:
        invocations = self._server.told["invocations"]
        if self._skip and invocations:
            self._journal.skip(invocations)
            self._skip = False
        return self._journal.read(invocations)


class Keeper:
    def __init__(self, folder: str, spec: Dict[str, Any], fd: int) -> None:
        self.path = os.path.join(folder, WATCHED)
        self.spool = Spool(fd)
        self.server = _server(folder, spec, self.spool, read_json(self.path))
        self.source = _source(spec, self.server, self.spool)
        self.asked = False
        self._written: Optional[Dict[str, Any]] = None

    def run(self) -> int:
        try:
            self.server.begin(self.write)
            end = self._until_the_end()
        except KitError as error:
            end = End(error.code, error.message)
        self.server.told["end"] = None if end is None else {"reason": end.reason, "text": end.text}
        self.write()
        self._read_the_rest(self.server.let_go)
        self.write()
        return 0 if end is None else 1

    def _until_the_end(self) -> Optional[End]:
        while not self.asked:
            begun = time.monotonic()
            # Looked at before the read: what was written by then is below.
            end = self.server.look()
            self.source.read()
            self.write()
            if end is not None:
                return end
            self._pause(max(LOOK_S, SHARE * (time.monotonic() - begun)))
        return self.server.look()  # it may have ended since, and the load with it

    def _pause(self, seconds: float) -> None:
        deadline = time.monotonic() + min(seconds, 5.0)
        while not self.asked and time.monotonic() < deadline:
            time.sleep(0.05)

    def _read_the_rest(self, let_go: Any) -> None:
        let_go()
        deadline = time.monotonic() + SETTLE_MOST_S
        quiet_since = time.monotonic()
        while time.monotonic() < min(deadline, quiet_since + SETTLE_S):
            try:
                if self.source.read():
                    quiet_since = time.monotonic()
            except KitError:
                return
            time.sleep(0.2)
        self.source.read(last=True)

    def write(self) -> None:
        """On disk before anything rests on it; not again if nothing has changed."""
        told = {**self.server.told, "gaps": self.spool.gaps}
        if told != self._written:
            write_json(self.path, told)
            self._written = dict(told)

    def ask(self, *_: Any) -> None:
        self.asked = True
        self.server.asked = True


def _server(folder: str, spec: Dict[str, Any], spool: Spool, known: Any) -> Server:
    if spec.get("launcher") == "systemd":
        return UnitServer(spec, spool, known, measuring=_load_of(folder))
    if spec.get("launcher") == "attach":
        return Attached(spec, spool)
    raise BadRequest("'launcher' must be systemd or attach")


def _source(spec: Dict[str, Any], server: Server, spool: Spool) -> Source:
    log = spec.get("log") or {"kind": "unit", "from": "beginning"}
    skip = log.get("from") != "beginning"
    if log["kind"] == "unit":
        return JournalOf(spool, server, skip=skip)
    if log["kind"] == "file":
        return LogFile(log["path"], spool, skip=skip)
    if log["kind"] == "container":
        return ContainerLog(engine(log), container_name(log), spool, skip=skip)
    raise BadRequest("'log' must be of kind unit, file or container")


def _load_of(folder: str) -> str:
    """The record by which the job beside this one tells that load has been started."""
    return os.path.join(os.path.dirname(folder), "load", "started.json")


def main(spec_path: str) -> int:
    """`keep SPEC`, as the program of a job; its stdout is the job's log."""
    spec = read_json(spec_path) or {}
    folder = os.path.dirname(os.path.abspath(spec_path))
    try:
        keeper = Keeper(folder, spec, 1)
    except KitError as error:
        end = {"reason": error.code, "text": error.message}
        told = {"op": spec.get("op"), "launcher": "attach", "left": None, "end": end}
        write_json(os.path.join(folder, WATCHED), told)
        return 1
    signal.signal(signal.SIGTERM, keeper.ask)
    signal.signal(signal.SIGINT, keeper.ask)
    return keeper.run()
