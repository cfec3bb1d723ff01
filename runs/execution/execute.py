"""The story of one run, from top to bottom."""

from __future__ import annotations

import asyncio
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db.models import Q

from hosts.launchers.base import Launcher
from hosts.launchers.process import ProcessLauncher
from hosts.launchers.servers import server_launcher
from hosts.nodekit.failpoints import failpoint
from runs.execution import exits, findings, gpus, ledger
from runs.execution.endings import ClaimLost, Ended, Failed, Lost, ServerEnded, TimedOut
from runs.execution.story import Story
from runs.models import Attempt, Operation, Reason, State
from runs.models.states import ACTIVE

AGAIN = 10  # orders to stop what survived one are numbered from here


async def execute(story: Story) -> None:
    """Measure one server launch.

    1. Acquire the host: its lease, a fence, an attempt.
    2. Prepare the node: kit, facts, nobody on the server's port.
    3. Start the server, and read its log from the first byte.
    4. Wait until it is ready: our process, the model and arguments meant, one generation.
    5. Measure: start the load, read its progress, until it has ended.
    6. Collect: stop the server, compare the logs with the node's, judge what was measured.

    Every way out passes ``put_away``: nothing is left running, the host is free again.
    """
    try:
        failpoint("story.begun")
        await acquire(story)
        failpoint("story.acquired")
        await resume_end(story)
        await prepare(story)
        await start_server(story)
        await wait_until_ready(story)
        await measure(story)
        await collect(story)
    except ClaimLost:
        raise
    except Ended as end:
        await put_away(story, end)


async def acquire(story: Story) -> None:
    """Hold the host. While another run has it, wait and say who."""
    await story.move([State.QUEUED], State.ACQUIRING)
    while story.run.state == State.ACQUIRING:
        await story.look()
        if await sync_to_async(ledger.acquire_host)(story.run, story.teller):
            break
        await asyncio.sleep(settings.DURATIONS.sweep)
    story.attempt = await story.run.attempts.order_by("-n").afirst()
    story.fence = await sync_to_async(ledger.fence_of)(story.run)


async def resume_end(story: Story) -> None:
    """If an earlier teller had decided that the run ends, it ends so, whatever is seen now."""
    end = await sync_to_async(findings.decided_end)(_attempt(story))
    if end is not None:
        raise end


async def prepare(story: Story) -> None:
    """Nothing is started yet: whatever is wrong here ends the run with nothing to clean up."""
    launcher = _server(story)
    asked = {**launcher.prepare_request(), "gpus": gpus.of_config(story.config)}
    found = await story.operation(Operation.Kind.PREPARE, asked)
    await sync_to_async(findings.note_facts)(story.run, _attempt(story), found["facts"])
    await sync_to_async(findings.note_clock)(_attempt(story), "start", found.get("clock"))
    if story.run.state == State.PREPARING:
        # only now it is known for sure which machine this is
        if (who := await sync_to_async(ledger.rival)(story.run)) is not None:
            raise Failed(Reason.SAME_MACHINE, findings.one_machine(story.run.host.name, who))
        findings.refuse_unfit(launcher, found)
        if why := findings.why_unfit(found["facts"]):
            raise Failed(Reason.NODE_UNFIT, why)
        await sync_to_async(gpus.refuse_taken)(story.run, found.get("gpus"), launcher)
    await story.move([State.PREPARING], State.STARTING)


async def start_server(story: Story) -> None:
    """The engine's command, as the config's launcher has it run."""
    request = _server(story).start_request(
        op=f"start-server-{_attempt(story).n}",
        argv=story.engine.command(
            story.config.flags, model=story.config.model, port=story.config.port
        ),
        env=findings.server_env(story.config, _attempt(story).facts),
        wall_s=None,
    )
    bounded = story.limits.of_server(request)
    started = await story.operation(Operation.Kind.START_SERVER, bounded)
    _attempt(story).server = started["started"]
    await _attempt(story).asave(update_fields=["server"])
    await story.follow("server")
    await gpus.sample(story, _job(story, "gpu"))
    await story.move([State.STARTING], State.WAITING_READY)


async def wait_until_ready(story: Story) -> None:
    """Ask until the engine's judge is content. A server that died or is another ends the run."""
    if story.run.state != State.WAITING_READY:
        return
    launcher = _server(story)
    expected = await sync_to_async(findings.expected)(story.engine, story.run, launcher)
    request = _check_request(story, story.engine.ready_requests(expected))
    checks = _attempt(story).operations.filter(kind=Operation.Kind.CHECK_READY)
    n = await checks.acount()
    wrong_before = False
    while True:
        if await story.wait_for("server", seconds=settings.DURATIONS.ready_check):
            raise ServerEnded(Reason.SERVER_DIED, "The server ended before it was ready.")
        n += 1
        answers = await story.operation(Operation.Kind.CHECK_READY, request, n)
        verdict = findings.judge_ready(
            story.engine, launcher, expected, answers, _attempt(story).server
        )
        if verdict.ready:
            await sync_to_async(findings.note_ready)(story.run, _attempt(story), verdict)
            break
        if verdict.wrong and wrong_before:
            raise Failed(Reason.WRONG_SERVER, verdict.detail)
        wrong_before = verdict.wrong  # once may be a server that dies between two answers
        if await sync_to_async(ledger.in_state_since)(story.run, story.limits.ready_s):
            raise TimedOut(Reason.NEVER_READY, f"Not ready in time. {verdict.detail}")
    await story.move([State.WAITING_READY], State.MEASURING)


async def measure(story: Story) -> None:
    """The load runs on the node by itself; here its progress is read until it has ended."""
    if story.run.state != State.MEASURING:
        return
    launcher = _job(story, "load")
    job = findings.load_job(story.engine, story.config, story.workload)
    request = launcher.start_request(
        op=f"start-load-{_attempt(story).n}",
        argv=job.argv,
        env=story.config.env if job.in_server_env else {},
        files=job.files,
        wall_s=None,
    )
    await story.operation(Operation.Kind.START_LOAD, story.limits.of_load(request))
    await story.follow("server")
    await story.follow("load")
    while True:
        await story.look()
        await story.remark_silence("load")
        ended = await story.wait_for("load", "server", seconds=settings.DURATIONS.watch)
        if ended == "load":
            break
        if ended == "server":
            raise ServerEnded(Reason.SERVER_DIED, "The server died while it was measured.")
    await still_serves(story)
    await story.move([State.MEASURING], State.COLLECTING)


async def still_serves(story: Story) -> None:
    """The load may end before a dying server does, with every figure it needs to look good.

    vLLM answers what is in flight with errors and goes seconds later; its client ends with 0.
    """
    expected = await sync_to_async(findings.expected)(story.engine, story.run, _server(story))
    asked = [r for r in story.engine.ready_requests(expected) if r["name"] == "health"]
    checks = _attempt(story).operations.filter(kind=Operation.Kind.CHECK_READY)
    request = _check_request(story, asked)
    for _ in range(2):
        n = await checks.acount() + 1
        answers = await story.operation(Operation.Kind.CHECK_READY, request, n)
        health = answers["responses"]["health"]
        if health["status"] == 200:
            return
        if await story.wait_for("server", seconds=settings.DURATIONS.stop_grace):
            raise ServerEnded(Reason.SERVER_DIED, "The server died while it was measured.")
    said = health["error"] or f"status {health['status']}"
    text = f"The server did not answer any more when its load had ended ({said})."
    raise ServerEnded(Reason.SERVER_DIED, text)


def _check_request(story: Story, asked: list[dict[str, Any]]) -> dict[str, Any]:
    port = story.config.port
    http = {"base_url": f"http://127.0.0.1:{port}", "requests": asked}
    return {"job": story.job("server"), "port": port, "http": http}


async def collect(story: Story) -> None:
    """Stop the server, prove that the logs are whole, and judge."""
    await story.follow("server")
    await story.follow("load")
    stopped = await story.operation(Operation.Kind.STOP, stop_request(story))
    await drain(story)
    if exits.survivors(stopped["jobs"]):
        raise Failed(Reason.UNKILLABLE, "What was started could not be ended on the node.")
    if (lost := findings.lost_sight(stopped["jobs"])) is not None:
        raise lost
    if (limit := exits.why_the_node_ended_it(stopped["jobs"])) is not None:
        raise limit
    findings.refuse_other_server(_attempt(story), stopped["jobs"]["server"])
    if not findings.was_stopped_by_us(stopped["jobs"]["server"]):
        raise ServerEnded(Reason.SERVER_DIED, "The server ended by itself before it was stopped.")
    asked = sync_to_async(findings.digest_request)
    roles = ("server", "load", "gpu") if await gpus.are_sampled(story) else ("server", "load")
    jobs = [story.job(role) | await asked(_attempt(story), role) for role in roles]
    collected = await story.operation(Operation.Kind.COLLECT, {"jobs": jobs})
    await sync_to_async(findings.note_clock)(_attempt(story), "end", collected.get("clock"))
    await sync_to_async(findings.conclude)(story.run, _attempt(story), collected["jobs"])
    failpoint("story.concluded")
    await sync_to_async(ledger.end)(
        story.run, to=State.SUCCEEDED, reason="", text="", actor=story.teller
    )


async def put_away(story: Story, end: Ended) -> None:
    """Leave nothing running, keep the last lines, free the host, and say why it ended.

    Only evidence that nothing runs frees a host. A node that stays away for too long, or a process
    that survives everything, leaves it in quarantine instead.
    """
    story.begin_putting_away()
    quarantine = ""
    if end.state == State.LOST:
        quarantine = exits.out_of_reach(story.run, end)
    elif await _may_have_started(story):
        try:
            end, quarantine = await _leave_nothing(story, end)
        except Lost as lost:
            quarantine = exits.out_of_reach(story.run, lost)
            end = Lost(lost.reason, f"{end.text}. Then the node went out of reach: {lost.text}")
    if story.run.state in ACTIVE:
        await sync_to_async(ledger.end)(
            story.run,
            to=end.state,
            reason=end.reason,
            text=end.text,
            actor=story.teller,
            quarantine=quarantine,
        )


async def _leave_nothing(story: Story, end: Ended) -> tuple[Ended, str]:
    """Stop everything; the end in the light of that, and why the host is unfit now, if it is."""
    decided = {"end": {"state": end.state, "reason": end.reason, "text": end.text}}
    request = stop_request(story) | decided
    stopped = await story.operation(Operation.Kind.STOP, request, n=2)
    loop = asyncio.get_running_loop()
    until = loop.time() + settings.DURATIONS.unkillable
    orders = _attempt(story).operations.filter(kind=Operation.Kind.STOP)
    while exits.survivors(stopped["jobs"]) and loop.time() < until:
        await asyncio.sleep(settings.DURATIONS.reconnect)
        n = AGAIN + await orders.acount()
        stopped = await story.operation(Operation.Kind.STOP, request, n=n)
    await drain(story)
    end = findings.with_evidence(end, stopped["jobs"])
    end.text = await sync_to_async(findings.with_last_lines)(_attempt(story), end)
    return end, exits.unconfirmed(story.run, end, stopped["jobs"])


async def drain(story: Story) -> None:
    """Read what is left of the logs; their processes have ended. Given up when nothing comes."""
    for role in list(story.following):
        with gpus.no_run_is_lost_for(role, story):
            stored = -1
            while stored != (now := await sync_to_async(story.stored)(role)):
                stored = now
                if await story.wait_for(role, seconds=settings.DURATIONS.command):
                    break


async def _may_have_started(story: Story) -> bool:
    """Not if the node refused the only order to start: then it refuses that to stop as well."""
    if story.attempt is None:
        return False
    asked = story.attempt.operations.filter(kind=Operation.Kind.START_SERVER)
    ours_no_more = (Reason.FENCED_OFF, Reason.OTHER_INSTALLATION)
    refused = Q(state=Operation.State.FAILED, reason__in=ours_no_more, tries=1)
    return await asked.exclude(refused).aexists()


def stop_request(story: Story) -> dict[str, Any]:
    """The load first, then who watches, then the server they need."""
    grace = settings.DURATIONS.stop_grace
    watchers = [_job(story, role).stop_request(grace_s=grace) for role in ("load", "gpu")]
    return {"jobs": [*watchers, _server(story).stop_request(grace_s=grace)]}


def _server(story: Story) -> Launcher:
    config = story.config
    return server_launcher(
        config.launcher,
        _job(story, "server"),
        port=config.port,
        unit=config.unit,
        settings=config.launcher_settings,
    )


def _job(story: Story, role: str) -> ProcessLauncher:
    assert story.fence is not None, "acquire() comes first"
    return ProcessLauncher(
        run=str(story.run.uid), attempt=str(_attempt(story).n), role=role, fence=story.fence
    )


def _attempt(story: Story) -> Attempt:
    assert story.attempt is not None, "acquire() comes first"
    return story.attempt
