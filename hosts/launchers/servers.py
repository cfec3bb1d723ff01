"""The launcher of a server, by the name of its kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hosts.launchers.base import Launcher, Request, Unfit
from hosts.launchers.kept import AttachLauncher, SystemdLauncher
from hosts.launchers.process import ProcessLauncher


@dataclass(frozen=True)
class DetachedServer:
    """The server is the job itself: our child, in a session of its own."""

    job: ProcessLauncher
    port: int

    sets_arguments: bool = field(init=False, default=True)

    @property
    def log_path(self) -> str:
        return self.job.log_path

    def prepare_request(self) -> Request:
        return {"port": self.port}

    def in_the_way(self, processes: Sequence[Request]) -> list[Request]:
        return list(processes)

    def unfit(self, found: Mapping[str, Any]) -> Unfit | None:
        return Unfit.port_taken(self.port, found["listeners"]) if found["listeners"] else None

    def start_request(
        self, *, op: str, argv: Sequence[str], env: Mapping[str, str], **limits: Any
    ) -> Request:
        return self.job.start_request(op=op, argv=argv, env=env, **limits)

    def has_begun(self, answers: Mapping[str, Any]) -> bool:
        return True  # its start is what was ordered, and the port was free before

    def strangers(self, answers: Mapping[str, Any], server: Mapping[str, Any]) -> list[Request]:
        return [who for who in answers["listeners"] if who.get("sid") != server["pid"]]

    def status_request(self) -> Request:
        return self.job.status_request()

    def follow_request(self, offset: int) -> Request:
        return self.job.follow_request(offset)

    def stop_request(self, *, grace_s: float) -> Request:
        return self.job.stop_request(grace_s=grace_s)


def server_launcher(
    kind: str, job: ProcessLauncher, *, port: int, unit: str, settings: Mapping[str, Any]
) -> Launcher:
    """``settings`` are those of the kind: restart_only for systemd, log for attach."""
    if kind == "systemd":
        return SystemdLauncher(job, unit, port, bool(settings.get("restart_only")))
    if kind == "attach":
        return AttachLauncher(job, port, settings["log"], unit)
    return DetachedServer(job, port)
