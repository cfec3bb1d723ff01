"""How long a run may take at what: the campaign's word, else the house's (webapp/durations.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from runs.models import Campaign

LOG_BYTES = 1 << 30  # of one log on the node; beyond it the middle is dropped


@dataclass(frozen=True)
class Limits:
    """Seconds. What is ``None`` is not kept."""

    ready_s: float  # from the start of the server until it is ready
    wall_s: float  # of the load; the node keeps it
    stall_s: float | None  # of the load without output; the node keeps it
    deadman_s: float | None  # nobody asking for the jobs; the node keeps it
    lost_after_s: float  # an unreachable node keeps its run this long

    @classmethod
    def of(cls, campaign: Campaign) -> Limits:
        told = campaign.limits
        times = settings.DURATIONS
        return cls(
            ready_s=told.get("ready_s") or times.ready_limit,
            wall_s=told.get("wall_s") or times.measure_limit,
            stall_s=told.get("stall_s"),
            deadman_s=told.get("deadman_s"),
            lost_after_s=told.get("lost_after_s") or times.lost_after,
        )

    def of_server(self, request: dict[str, Any]) -> dict[str, Any]:
        """An order to start the server: it may take the time of getting ready and of the load."""
        return self._bound(request, wall_s=self.ready_s + self.wall_s)

    def of_load(self, request: dict[str, Any]) -> dict[str, Any]:
        return self._bound(request, wall_s=self.wall_s, stall_s=self.stall_s)

    def _bound(self, request: dict[str, Any], **own: float | None) -> dict[str, Any]:
        common = {"deadman_s": self.deadman_s, "log_bytes": LOG_BYTES}
        return {**request, "limits": {**request["limits"], **common, **own}}
