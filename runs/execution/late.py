"""A LOST run whose node is back: what the node has written decides how it ended after all."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from asgiref.sync import sync_to_async

from runs.execution import execute, exits, findings, gpus, ledger
from runs.execution.endings import Ended, Failed, Lost, ServerEnded
from runs.execution.story import Story
from runs.models import Operation, Reason, State

LATE_STOP = 3  # the third order to stop: the first two are those of collect and of put_away


async def correct(story: Story) -> None:
    """Read the logs to their end, stop what is left, and move the run where the evidence says.

    Nothing is moved while the node cannot be asked, nor if it knows nothing of the run.
    """
    story.begin_putting_away()
    story.attempt = await story.run.attempts.order_by("-n").afirst()
    if story.attempt is None:
        return
    story.fence = await sync_to_async(ledger.fence_of)(story.run)
    decided = await sync_to_async(findings.decided_end)(story.attempt)
    stop = execute.stop_request(story)
    try:
        stopped = await story.operation(Operation.Kind.STOP, stop, n=LATE_STOP)
        for role in await roles(story):
            if stopped["jobs"][role]["status"]["state"] != "absent":
                await story.follow(role)
        await execute.drain(story)
        if exits.survivors(stopped["jobs"]):
            return  # the host stays in quarantine, and the run as it is
        await _conclude(story, stopped["jobs"], decided)
    except Lost:
        return  # away again
    except Ended as end:
        told = await sync_to_async(findings.with_last_lines)(story.attempt, end)
        await _end(story, end.state, end.reason, f"Late: {told}", stopped["jobs"])
    else:
        await _end(story, State.SUCCEEDED, "", "", stopped["jobs"])


async def roles(story: Story) -> list[str]:
    """Whose logs there are to read."""
    return ["server", "load", *(["gpu"] if await gpus.are_sampled(story) else [])]


async def _conclude(story: Story, jobs: dict[str, Any], decided: Ended | None) -> None:
    """Raises how it ended, unless it ended well."""
    assert story.attempt is not None
    if decided is not None and decided.state != State.LOST:
        raise decided
    if (sad := findings.lost_sight(jobs) or exits.why_the_node_ended_it(jobs)) is not None:
        raise sad
    load = jobs["load"]["status"].get("exit")
    if load is None or load["reason"] == "stopped":
        text = "The node came back; by then nobody waited for the run any more, and it was stopped."
        raise Failed(Reason.UNREACHABLE, text)
    if not findings.was_stopped_by_us(jobs["server"]):
        raise ServerEnded(
            Reason.SERVER_DIED, "The server ended by itself while it was out of reach."
        )
    asked = sync_to_async(findings.digest_request)
    wanted = [story.job(role) | await asked(story.attempt, role) for role in await roles(story)]
    collected = await story.operation(Operation.Kind.COLLECT, {"jobs": wanted}, n=LATE_STOP)
    await sync_to_async(findings.note_clock)(story.attempt, "end", collected.get("clock"))
    await sync_to_async(findings.conclude)(story.run, story.attempt, collected["jobs"])


async def _end(story: Story, to: State, reason: str, text: str, jobs: dict[str, Any]) -> None:
    """From LOST, with the node's time, and the host free: it is proven to be empty."""
    record = jobs["load"]["status"].get("exit") or jobs["server"]["status"].get("exit") or {}
    at = record.get("at")
    ended = datetime.fromtimestamp(at, UTC) if isinstance(at, (int, float)) else None
    await sync_to_async(ledger.end_late)(
        story.run, to=to, reason=reason, text=text, actor=story.teller, ended=ended
    )
