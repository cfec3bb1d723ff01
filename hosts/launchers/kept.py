"""Servers that are no child of ours: a systemd unit, and one that somebody else runs.

Both are a job under the node kit's supervisor all the same. Its program is the kit's `keep`, which
sees to the server and copies its log; so fence, status, log and stop are those of any job.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hosts.launchers import setup
from hosts.launchers.base import Request, Unfit
from hosts.launchers.process import ProcessLauncher

SPEC = "watch.json"
PROGRAM = ("{python}", "-I", "{kit}", "keep", "{job_dir}/" + SPEC)
STOP_GRACE_S = 30.0  # a unit may take 20 s to end, and the last lines reach the journal after that


@dataclass(frozen=True)
class SystemdLauncher:
    """``restart_only``: the unit's arguments are its own, and it is left running if it ran."""

    job: ProcessLauncher
    unit: str
    port: int
    restart_only: bool = False

    sets_arguments: bool = field(init=False, default=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sets_arguments", not self.restart_only)

    @property
    def log_path(self) -> str:
        return self.job.log_path

    def prepare_request(self) -> Request:
        return {"port": self.port, "unit": self.unit}

    def in_the_way(self, processes: Sequence[Request]) -> list[Request]:
        """Not the unit's own: they end when it is restarted."""
        return [each for each in processes if each.get("unit") != self.unit]

    def unfit(self, found: Mapping[str, Any]) -> Unfit | None:
        told = found["unit"]
        wrong = setup.problems(told, restart_only=self.restart_only)
        if wrong:
            hint = f"manage.py unit_setup HOST {self.unit} prints what an administrator installs."
            return Unfit("node-unfit", f"{wrong[0]} {hint}")
        if (denied := setup.denied(told)) is not None:
            return Unfit("sudo-denied", denied)
        others = self._outside(found["listeners"], told["uid"])
        return Unfit.port_taken(self.port, others) if others else None

    def start_request(
        self, *, op: str, argv: Sequence[str], env: Mapping[str, str], wall_s: float | None
    ) -> Request:
        command = {"argv": list(argv), "env": sorted(env), "cwd": None}
        spec = {
            "launcher": "systemd",
            "op": op,
            "port": self.port,
            "unit": self.unit,
            "command": None if self.restart_only else command,
        }
        return _start(self.job, spec, op=op, env=env, wall_s=wall_s)

    def has_begun(self, answers: Mapping[str, Any]) -> bool:
        """While systemd restarts the unit, its former process may still answer."""
        return bool((answers["status"].get("watched") or {}).get("invocations"))

    def strangers(self, answers: Mapping[str, Any], server: Mapping[str, Any]) -> list[Request]:
        watched = answers["status"].get("watched") or {}
        return self._outside(answers["listeners"], watched.get("uid"))

    def _outside(self, listeners: Sequence[Request], uid: int | None) -> list[Request]:
        """Listeners that are not the unit's; of another user's only the user is to be seen."""
        return [
            who
            for who in listeners
            if (who.get("unit") != self.unit if who.get("pid") else who.get("uid") != uid)
        ]

    def status_request(self) -> Request:
        return self.job.status_request()

    def follow_request(self, offset: int) -> Request:
        return self.job.follow_request(offset)

    def stop_request(self, *, grace_s: float) -> Request:
        return self.job.stop_request(grace_s=max(grace_s, STOP_GRACE_S))


@dataclass(frozen=True)
class AttachLauncher:
    """``log`` is {"kind": "unit" | "file" | "container", "from": "now" | "beginning", …}."""

    job: ProcessLauncher
    port: int
    log: Mapping[str, Any]
    unit: str = ""

    sets_arguments: bool = field(init=False, default=False)

    @property
    def log_path(self) -> str:
        return self.job.log_path

    def prepare_request(self) -> Request:
        return {"port": self.port}

    def in_the_way(self, processes: Sequence[Request]) -> list[Request]:
        """Nothing is: what runs there is the server, and nothing new is started."""
        return []

    def unfit(self, found: Mapping[str, Any]) -> Unfit | None:
        if found["listeners"]:
            return None
        text = f"Nobody listens on port {self.port}: there is no server to attach to."
        return Unfit("node-unfit", text)

    def start_request(
        self, *, op: str, argv: Sequence[str], env: Mapping[str, str], wall_s: float | None
    ) -> Request:
        """``argv`` and ``env`` are not used: nothing is started but the watching."""
        spec = {"launcher": "attach", "op": op, "port": self.port, "log": dict(self.log)}
        if self.unit:
            spec["unit"] = self.unit
        return _start(self.job, spec, op=op, env={}, wall_s=wall_s)

    def has_begun(self, answers: Mapping[str, Any]) -> bool:
        return True

    def strangers(self, answers: Mapping[str, Any], server: Mapping[str, Any]) -> list[Request]:
        """Whoever does not listen since the watching began."""
        told = (answers["status"].get("watched") or {}).get("listeners") or []
        known = {_named(who) for who in told}
        return [who for who in answers["listeners"] if _named(who) not in known]

    def status_request(self) -> Request:
        return self.job.status_request()

    def follow_request(self, offset: int) -> Request:
        return self.job.follow_request(offset)

    def stop_request(self, *, grace_s: float) -> Request:
        """Ends the watching; the server goes on."""
        return self.job.stop_request(grace_s=max(grace_s, STOP_GRACE_S))


def _start(
    job: ProcessLauncher, spec: Request, *, op: str, env: Mapping[str, str], wall_s: float | None
) -> Request:
    return job.start_request(
        op=op,
        argv=PROGRAM,
        env=env,
        files={SPEC: json.dumps(spec)},
        wall_s=wall_s,
        stop_grace_s=STOP_GRACE_S,
    )


def _named(who: Mapping[str, Any]) -> tuple[Any, ...]:
    return (who.get("pid"), who.get("start_time"), who.get("uid"))
