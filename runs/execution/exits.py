"""What the node's exit records say of a run's end."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from runs.execution.endings import Ended, Failed, TimedOut
from runs.models import Reason, Run

Jobs = dict[str, Any]  # role -> what `stop` answered

LIMITS = {
    "wall-limit": (Reason.TIME_LIMIT, "its time limit was reached"),
    "stall-limit": (Reason.STALLED, "it had printed nothing for as long as it may be silent"),
    "deadman-limit": (
        Reason.UNATTENDED,
        "nobody had asked for it for as long as the campaign lets it run unattended",
    ),
}


def why_the_node_ended_it(jobs: Jobs) -> Ended | None:
    """The limit that the node itself has kept, with the node's time; ``None`` if it kept none."""
    for role in ("server", "load"):
        ended = jobs[role]["status"].get("exit") or {}
        at = node_time(ended)
        if ended.get("reason") in LIMITS:
            reason, words = LIMITS[ended["reason"]]
            return TimedOut(reason, f"The node ended the {role} at {at}: {words}.")
        if ended.get("reason") == "disk-full":
            text = (
                f"The disk of the node was full at {at}, and so the {role} could not go on: lines "
                "of its log may be missing. Make room there and run it again."
            )
            return Failed(Reason.NODE_DISK_FULL, text)
    return None


def survivors(jobs: Jobs) -> list[str]:
    """The roles whose processes live on after everything was tried."""
    return [role for role, job in jobs.items() if job["outcome"] == "still-running"]


def out_of_reach(run: Run, end: Ended) -> str:
    """Why nobody may use what a LOST run had."""
    return (
        f"{run} may still run there: the node has been out of reach for too long ({end.text}). "
        "It is asked again every minute and freed when it shows that nothing is left."
    )


def unconfirmed(run: Run, end: Ended, jobs: Jobs) -> str:
    """Marks the end when processes survive it; why the host is unfit then, else empty."""
    left = survivors(jobs)
    if not left:
        return ""
    what = " and ".join(left)
    end.text = f"(unconfirmed) {end.text}"
    return (
        f"What {run} started there (its {what}) survives being killed, as a process does that "
        "hangs in a driver. Restart the machine, or end it by hand, then free the host here."
    )


def node_time(ended: dict[str, Any]) -> str:
    """When a job ended by the node's own clock, or that it is not known."""
    at = ended.get("at")
    if not isinstance(at, (int, float)):
        return "an unknown time"
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC (the node's clock)"
