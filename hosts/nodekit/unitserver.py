"""A server that lives as a systemd unit: started anew once, watched, and let go of.

What our command is, the unit's wrapper reads from `units/<unit>/command.json`; a unit without it
keeps arguments of its own and is only restarted.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import Any, Callable, Dict, Optional

from . import units
from .errors import KitError
from .jsonfile import write_private
from .machine import boot_id
from .rundir import make_private
from .spool import Spool
from .units import UNIT, command_file, unit_name
from .watched import CRASH_LOOP, DIED, OUTSIDE, RESTARTED, UNFIT, End

MOST_RESTARTS = 3
AGAIN_S = 10.0  # a unit that waits so long to be started again counts as dead
START_S = 120.0  # the old server has to end first
FROM_LOGIN = ("PATH", "LD_LIBRARY_PATH")
BEFORE = ("InvocationID", "ActiveEnterTimestampMonotonic", "NRestarts", "ActiveState")


class UnitServer:
    def __init__(
        self, spec: Dict[str, Any], spool: Spool, known: Optional[Dict[str, Any]], *, measuring: str
    ) -> None:
        self.unit = unit_name(spec)
        self.asked = False
        self._spec = spec
        self._spool = spool
        self._measuring = measuring
        self._restarting: Optional["subprocess.Popen[bytes]"] = None
        self._begun = time.monotonic()
        self._waiting_since: Optional[float] = None
        self._bad = ""
        again = known is not None and known.get("op") == spec.get("op")
        self.told: Dict[str, Any] = dict(known or {}) if again else self._nothing_seen()

    def _nothing_seen(self) -> Dict[str, Any]:
        return {
            "op": self._spec.get("op"),
            "launcher": "systemd",
            "unit": self.unit,
            "ours": self._spec.get("command") is not None,
            "boot_id": boot_id(),
            "before": None,
            "invocations": [],
            "main_pid": None,
            "uid": None,
            "restarts": 0,
            "active_state": None,
            "left": None,
            "end": None,
        }

    def begin(self, write: Callable[[], None]) -> None:
        """Restart the unit, once: another invocation than the one before proves that it was."""
        shown = units.show(self.unit)
        self._refuse_unfit(shown)
        if self.told["before"] is None:
            self.told["before"] = {name: shown.get(name) for name in BEFORE}
            write()
        elif shown.get("InvocationID") != self.told["before"]["InvocationID"]:
            return  # done by an earlier call of the same operation
        if self._spec.get("command") is not None:
            self._write_command(self._spec["command"])
        try:
            units.act("reset-failed", self.unit)
        except KitError as error:
            if error.code == "sudo-denied":
                raise
        self._restarting = units.begin("restart", self.unit)

    def _refuse_unfit(self, shown: Dict[str, str]) -> None:
        if shown.get("LoadState") != "loaded":
            text = "There is no unit {} on this node ({})."
            raise KitError(UNFIT, text.format(self.unit, shown.get("LoadState") or "not found"))
        if self.told["ours"] and command_file(self.unit) not in shown.get("ExecStart", ""):
            text = "{} does not start the wrapper that reads {}: its drop-in is missing."
            raise KitError(UNFIT, text.format(self.unit, command_file(self.unit)))

    def _write_command(self, command: Dict[str, Any]) -> None:
        path = command_file(self.unit)
        make_private(os.path.dirname(path))
        # systemd gives a service no more than a bare PATH; a login's own finds the engine
        names = [*command["env"], *(name for name in FROM_LOGIN if name in os.environ)]
        env = {name: os.environ[name] for name in names if name in os.environ}
        told = {"argv": command["argv"], "env": env, "cwd": command.get("cwd")}
        write_private(path + ".new", json.dumps(told).encode())
        os.rename(path + ".new", path)

    def look(self) -> Optional[End]:
        end = self._restarted()
        shown = units.show(self.unit)
        self._keep(shown)
        invocation = shown.get("InvocationID") or ""
        if end is not None or invocation == self.told["before"]["InvocationID"]:
            return end or self._not_begun()
        if invocation and invocation not in self.told["invocations"]:
            end = self._new_invocation(invocation, shown)
            if end is not None:
                return end
        return self._state(shown)

    def _restarted(self) -> Optional[End]:
        """What came of `systemctl restart`, once it has answered. Raises KitError if denied."""
        if self._restarting is None or self._restarting.poll() is None:
            return None
        said, _ = self._restarting.communicate()
        code, self._restarting = self._restarting.returncode, None
        try:
            units.judge("restart", self.unit, code, said)
        except KitError as error:
            if error.code == "sudo-denied":
                raise
            shown = units.show(self.unit)
            return End(self._reason(shown), "{} {}".format(error.message, told_end(shown)))
        return None

    def _not_begun(self) -> Optional[End]:
        if time.monotonic() - self._begun < START_S:
            return None
        text = "systemctl restart has not started {} anew within {:g} s."
        return End("cannot-start", text.format(self.unit, START_S))

    def _keep(self, shown: Dict[str, str]) -> None:
        pid = int(shown.get("MainPID") or 0)
        self.told["main_pid"] = pid or self.told["main_pid"]
        self.told["uid"] = units.uid_of(pid) if pid else self.told["uid"]
        self.told["restarts"] = units.restarts(shown)
        self.told["active_state"] = shown.get("ActiveState")
        if shown.get("Result") not in ("success", None, ""):
            self._bad = told_end(shown)

    def _new_invocation(self, invocation: str, shown: Dict[str, str]) -> Optional[End]:
        first = not self.told["invocations"]
        self.told["invocations"] = [*self.told["invocations"], invocation]
        if first:
            return None
        count = units.restarts(shown)
        if count == 0:
            # systemd counts its own restarts; a person's sets the count to nothing
            self._spool.mark("restarted", "Somebody restarted the unit.", by="outside")
            text = "An outside actor restarted {} during the run: not systemd, and not this run."
            return End(OUTSIDE, text.format(self.unit))
        self._bad = units.last_words(self.unit, self.told["invocations"][-2]) or self._bad
        text = "systemd started {} anew (restart {}).".format(self.unit, count)
        if self._bad:
            text += " Before that: {}".format(self._bad)
        self._spool.mark("restarted", text, by="systemd", count=count)
        return End(RESTARTED, text) if os.path.exists(self._measuring) else None

    def _state(self, shown: Dict[str, str]) -> Optional[End]:
        state, count = shown.get("ActiveState"), units.restarts(shown)
        if count >= MOST_RESTARTS:
            text = "{} was started anew {} times by systemd: it ends each time. {}"
            return End(CRASH_LOOP, text.format(self.unit, count, self._bad).strip())
        if state in ("failed", "inactive"):
            return End(self._reason(shown), "{}: {}".format(self.unit, told_end(shown)))
        if shown.get("SubState") != "auto-restart":
            self._waiting_since = None
        elif self.asked:  # nobody waits any more to see it started again
            text = "{} ended and systemd is about to start it anew: {}"
            return End(RESTARTED, text.format(self.unit, told_end(shown)))
        elif self._waiting_since is None:
            self._waiting_since = time.monotonic()
        elif time.monotonic() - self._waiting_since > AGAIN_S:
            text = "{} ended and waits to be started again by systemd: {}"
            return End(DIED, text.format(self.unit, told_end(shown)))
        return None

    @staticmethod
    def _reason(shown: Dict[str, str]) -> str:
        return CRASH_LOOP if shown.get("Result") == "start-limit-hit" else DIED

    def let_go(self) -> None:
        if self._restarting is not None:  # asked to stop while the unit was being restarted
            try:
                self._restarting.communicate(timeout=units.COMMAND_S)
            except subprocess.TimeoutExpired:
                pass  # `systemctl stop` is queued behind it
        elif not self.told["invocations"]:
            return  # it was never started
        release(self.told)


def release(told: Dict[str, Any]) -> bool:
    """Stop the unit if it is ours to stop; True when what should not run any more still does."""
    unit = told["unit"]
    assert UNIT.fullmatch(unit)
    if told["before"] is None:
        return False
    shown = units.show(unit)
    if units.runs(shown) and not _is_others(told, shown):
        told["left"] = units.stop_and_wait(unit)
        if told["left"]:
            return True
    if told["ours"] and not units.runs(units.show(unit)):
        try:
            os.unlink(command_file(unit))
        except FileNotFoundError:
            pass  # somebody has let go of it before
    return False


def _is_others(told: Dict[str, Any], shown: Dict[str, str]) -> bool:
    """Whether what runs now is left alone; the record says why."""
    before = told["before"]
    if not told["ours"] and before["ActiveState"] in ("active", "activating", "reloading"):
        told["left"] = None  # as it was found: running
        return True
    outside = (
        told["boot_id"] == boot_id()
        and shown.get("InvocationID") not in told["invocations"]
        and (bool(told["invocations"]) or shown.get("InvocationID") == before["InvocationID"])
        and units.restarts(shown) == 0
    )
    return outside or (told.get("end") or {}).get("reason") == OUTSIDE


def told_end(shown: Dict[str, str]) -> str:
    """How the unit's process ended, by systemd's own words."""
    result, status = shown.get("Result") or "unknown", shown.get("ExecMainStatus") or "?"
    how = {
        "1": "exit status {}".format(status),
        "2": "killed by signal {}".format(status),
        "3": "killed by signal {}, core dumped".format(status),
    }.get(shown.get("ExecMainCode") or "", "no exit status")
    if result == "success":
        return "it ended by itself or was stopped ({}).".format(how)
    return "Result={}, {}.".format(result, how)
