"""How long things have taken before: the price of a proposal, and what is left of a run."""

from __future__ import annotations

from statistics import fmean

from hosts.models import Host
from runs.models import Arm, Run, State, Workload

RECENT = 5  # launches looked back on; older ones say little about today's node


def run_seconds(workload: Workload, host: Host) -> float | None:
    """Mean seconds of recent successful launches of this workload's shape there, if any."""
    done = Run.objects.filter(
        state=State.SUCCEEDED,
        imported=False,
        host=host,
        started_at__isnull=False,
        arm__workload__levels=workload.levels,
        arm__workload__max_tokens=workload.max_tokens,
    ).order_by("-ended_at")[:RECENT]
    seconds = [run.duration.total_seconds() for run in done if run.duration is not None]
    return fmean(seconds) if seconds else None


def left_of(run: Run, elapsed: float) -> float | None:
    """Seconds that an active run will probably still take; ``None`` without experience."""
    expected = run_seconds(run.arm.workload, run.host)
    return max(expected - elapsed, 0.0) if expected is not None else None


def price_minutes(arm: Arm, host: Host) -> int | None:
    """Minutes that one more launch like ``arm`` takes, rounded up."""
    seconds = run_seconds(arm.workload, host)
    return None if seconds is None else max(1, -int(-seconds // 60))
