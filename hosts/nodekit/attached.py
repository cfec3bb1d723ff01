"""A server that runs already: looked at, never started, stopped or restarted.

It is known by who listens on its port, and by its unit's invocation or its container where one is
named. As long as those stay the same, so does the server.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

from . import container, units
from . import request as req
from .errors import KitError
from .listeners import listeners, sockets_on
from .proc import look
from .spool import Spool
from .watched import DIED, NOT_RUNNING, RESTARTED, End

CONTAINER_EVERY = 4  # docker is slow to answer: at one look in four


class Attached:
    def __init__(self, spec: Dict[str, Any], spool: Spool) -> None:
        self.asked = False
        self._port = req.whole(spec, "port", least=1, most=65535)
        log = spec.get("log") or {}
        self._unit = units.unit_name(spec) if spec.get("unit") else None
        self._container: Optional[List[str]] = None
        if log.get("kind") == "container":
            self._container = [container.engine(log), container.container_name(log)]
        self._looks = 0
        self.told: Dict[str, Any] = {
            "op": spec.get("op"),
            "launcher": "attach",
            "unit": self._unit,
            "container": None,
            "sockets": [],
            "listeners": [],
            "invocations": [],
            "main_pid": None,
            "restarts": 0,
            "left": None,
            "end": None,
        }

    def begin(self, write: Callable[[], None]) -> None:
        self.told["sockets"] = sorted(sockets_on(self._port))
        self.told["listeners"] = listeners({"port": self._port})["listeners"]
        if self._unit is not None:
            shown = units.show(self._unit)
            if not units.runs(shown):
                raise KitError(NOT_RUNNING, "The unit {} does not run.".format(self._unit))
            self.told["invocations"] = [shown["InvocationID"]]
            self.told["main_pid"] = int(shown.get("MainPID") or 0) or None
        if self._container is not None:
            self.told["container"] = container.inspect(*self._container)
            if not self.told["container"]["running"]:
                text = "The container {} does not run.".format(self._container[1])
                raise KitError(NOT_RUNNING, text)
        write()

    def look(self) -> Optional[End]:
        self._looks += 1
        return self._unit_changed() or self._container_changed() or self._port_changed()

    def _unit_changed(self) -> Optional[End]:
        if self._unit is None:
            return None
        shown = units.show(self._unit)
        if not units.runs(shown):
            from .unitserver import told_end

            return End(DIED, "{}: {}".format(self._unit, told_end(shown)))
        if shown.get("InvocationID") not in self.told["invocations"]:
            count = units.restarts(shown)
            who = "systemd (restart {})".format(count) if count else "somebody"
            text = "{} was started anew by {} while it was measured.".format(self._unit, who)
            return End(RESTARTED, text)
        return None

    def _container_changed(self) -> Optional[End]:
        if self._container is None or self._looks % CONTAINER_EVERY:
            return None
        was, name = self.told["container"], self._container[1]
        try:
            now = container.inspect(*self._container)
        except KitError as error:
            return End(DIED, "The container {} is gone: {}".format(name, error.message))
        if not now["running"]:
            killed = ", out of memory" if now["oom_killed"] else ""
            text = "The container {} ended with exit status {}{}."
            return End(DIED, text.format(name, now["exit_code"], killed))
        if (now["id"], now["started_at"]) != (was["id"], was["started_at"]):
            text = "The container {} was started anew while it was measured."
            return End(RESTARTED, text.format(name))
        return None

    def _port_changed(self) -> Optional[End]:
        """Only once somebody has been seen there: a server may still be on its way."""
        now = sockets_on(self._port)
        if not self.told["sockets"]:
            self.told["sockets"] = sorted(now)
            if now:
                self.told["listeners"] = listeners({"port": self._port})["listeners"]
            return None
        if not now:
            return End(DIED, "Nobody listens on port {} any more.".format(self._port))
        if sorted(now) != self.told["sockets"] or self._process_changed():
            text = "Another process listens on port {} than at the start."
            return End(RESTARTED, text.format(self._port))
        return None

    def _process_changed(self) -> bool:
        for who in self.told["listeners"]:
            process = look(who["pid"]) if who["pid"] else None
            if who["pid"] and (process is None or process.start_time != who["start_time"]):
                return True
        return False

    def let_go(self) -> None:
        """It was never ours."""
