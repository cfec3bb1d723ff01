"""What the story concludes from what the node answered. Plain functions, no waiting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from hosts.actions.probe import keep_facts
from hosts.launchers.base import Launcher, named
from runs.actions.conclude import judge_attempt
from runs.drivers.checks import WorkloadError
from runs.drivers.driver import Job
from runs.drivers.registry import find_driver
from runs.engines.engine import Engine
from runs.engines.registry import ENGINES
from runs.engines.smoke import USUAL, Smoke
from runs.execution.endings import Ended, Failed
from runs.execution.exits import why_the_node_ended_it
from runs.execution.gpus import note_trouble
from runs.models import (
    Attempt,
    Event,
    Level,
    LogStream,
    Operation,
    Reason,
    Run,
    ServerConfig,
    State,
    Workload,
)
from runs.models.run import LOG_FOLLOWS

LAST_LINES = 12
# codes of the node kit's keeper that have no reason of their own
SEEN = {
    "outside-actor": Reason.SERVER_RESTARTED,
    "unit-unfit": Reason.NODE_UNFIT,
    "no-systemd": Reason.NODE_UNFIT,
    "no-container": Reason.NODE_UNFIT,
    "not-running": Reason.NODE_UNFIT,
    "bad-log": Reason.NODE_UNFIT,
    "unit-failed": Reason.CANNOT_START,
}
LEAST_DISK = 1 << 30
LEAST_FILES = 100


def note_facts(run: Run, attempt: Attempt, facts: dict[str, Any]) -> None:
    """Keep the node's facts with the attempt, and as the host's latest."""
    attempt.facts = facts
    attempt.save(update_fields=["facts"])
    keep_facts(host=run.host, data=facts)


def note_clock(attempt: Attempt, when: str, told: dict[str, float] | None) -> None:
    """How far the node's clock was from ours at the "start" or the "end", where that was told."""
    if told is not None:
        attempt.facts = {**attempt.facts, "clocks": {**attempt.facts.get("clocks", {}), when: told}}
        attempt.save(update_fields=["facts"])


def server_env(config: ServerConfig, facts: dict[str, Any] | None) -> dict[str, str]:
    """The server's environment; it sees the GPUs of its lease and no others."""
    if not config.gpus:
        return dict(config.env)
    variable = (facts or {}).get("gpu_variable") or "CUDA_VISIBLE_DEVICES"
    return {**config.env, variable: ",".join(map(str, config.gpus))}


def one_machine(host: str, who: str) -> str:
    return (
        f"{host} turned out to be a machine that is known by another name too, and there {who}. "
        "Nothing was started. Run it again once that is over; from now on both names wait for "
        "each other."
    )


def refuse_unfit(launcher: Launcher, found: dict[str, Any]) -> None:
    """Raises :class:`Failed` if the server cannot be started on the node as it was found."""
    if found["facts"].get("kills_user_processes"):
        raise Failed(
            Reason.NODE_UNFIT,
            "This host's logind ends whatever a login leaves running, so no server would outlive "
            "its start. In /etc/systemd/logind.conf set KillUserProcesses=no, or "
            f"KillExcludeUsers=root {found['facts'].get('user') or 'and this login'}; then "
            "systemctl restart systemd-logind.",
        )
    unfit = launcher.unfit(found)
    if unfit is not None:
        raise Failed(Reason(unfit.code), unfit.text)


def why_unfit(facts: dict[str, Any]) -> str:
    """What the node lacks to keep the logs of a run; empty if it lacks nothing."""
    free, files = facts.get("disk_free_bytes"), facts.get("files_free")
    folder = facts.get("state_dir") or "~/.local/state/throughline"
    if facts.get("state_writable") is False:
        return f"Nothing can be written to {folder} on the node: mount it for writing."
    if free is not None and free < LEAST_DISK:
        return (
            f"The node has {free / 2**20:.0f} MiB of disk left for {folder}; a run needs 1 GiB, or "
            "its logs may be cut off. Make room there and run it again."
        )
    if files is not None and files < LEAST_FILES:
        return (
            f"The node's file system can take {files} more files at {folder}; a run needs "
            f"{LEAST_FILES}. Remove some there and run it again."
        )
    return ""


def expected(engine: Engine, run: Run, launcher: Launcher) -> Any:
    """The server meant, and the question it must answer: the campaign's own or the usual one."""
    campaign, config = run.campaign, run.arm.config
    own = campaign.smoke_question
    smoke = Smoke(own, campaign.smoke_answer) if own else USUAL
    ours = launcher.sets_arguments
    return engine.expected(config.flags, model=config.model, smoke=smoke, any_arguments=not ours)


@dataclass(frozen=True)
class ReadyVerdict:
    """Whether the server measured is the server meant. ``wrong``: it never will be."""

    ready: bool
    wrong: bool
    detail: str
    evidence: dict[str, Any]


def judge_ready(
    engine: Engine,
    launcher: Launcher,
    expected: Any,
    answers: dict[str, Any],
    server: dict[str, Any],
) -> ReadyVerdict:
    """Our process on the port, then what the engine's judge says of the answers."""
    watched = answers["status"].get("watched") or {}
    if not launcher.has_begun(answers):
        return ReadyVerdict(False, False, "The server has not been seen to start anew yet.", {})
    pid = watched.get("main_pid") or server["pid"]
    strangers = launcher.strangers(answers, server)
    if strangers:
        text = f"The port is answered by {named(strangers)}, not by the server meant (pid {pid})."
        return ReadyVerdict(False, True, text, {"listeners": answers["listeners"]})
    if not answers["listeners"]:
        return ReadyVerdict(False, False, "Nothing listens on the port yet.", {})
    told = engine.judge(answers["responses"], expected)
    wrong = told.healthy and (told.model_ok is False or told.args_ok is False)
    evidence = {"pid": pid, "start_time": server["start_time"], **told.evidence}
    if watched:
        evidence |= {"listeners": answers["listeners"], "invocation": _invocation(watched)}
    return ReadyVerdict(told.ready, wrong, told.detail, evidence)


@transaction.atomic
def note_ready(run: Run, attempt: Attempt, verdict: ReadyVerdict) -> None:
    """Keep what made us say ready."""
    attempt.readiness = {"detail": verdict.detail, **verdict.evidence}
    attempt.save(update_fields=["readiness"])
    Event.objects.create(
        run=run,
        attempt=attempt,
        kind="ready",
        at=timezone.now(),
        text=verdict.detail,
        data=attempt.readiness,
        actor="readiness",
    )


def load_job(engine: Engine, config: ServerConfig, workload: Workload) -> Job:
    """What makes the load, as its driver wants it started. Raises :class:`Failed` if it cannot."""
    try:
        return find_driver(workload.driver).start(
            workload.for_driver(),
            base_url=f"http://127.0.0.1:{config.port}",
            model=engine.served_model(config.flags, model=config.model),
            model_path=config.model,
            reset=engine.cache_reset,
        )
    except WorkloadError as error:
        raise Failed(Reason.LOAD_FAILED, f"The load cannot be started: {error}.") from error


def _invocation(watched: dict[str, Any]) -> str | None:
    """The latest start of the unit: each has an id of its own."""
    return (watched.get("invocations") or [None])[-1]


def what_was_seen(job: dict[str, Any]) -> Failed | None:
    """Why the node's keeper of a unit, or of a server that ran already, gave it up."""
    watched = job["status"].get("watched") or {}
    end = watched.get("end")
    if not end:
        return None
    known = SEEN.get(end["reason"]) or end["reason"]
    reason = Reason(known) if known in Reason.values else Reason.OPERATION_FAILED
    return Failed(reason, " ".join(filter(None, [end["text"], watched.get("left")])))


def refuse_other_server(attempt: Attempt, job: dict[str, Any]) -> None:
    """The server that was stopped must be the one that was found ready, and have lived so long."""
    if (seen := what_was_seen(job)) is not None:
        raise seen
    now, then = job["status"].get("watched") or {}, attempt.readiness.get("invocation")
    if then and _invocation(now) != then:
        text = "The unit was started anew between its readiness and the load."
        raise Failed(Reason.SERVER_RESTARTED, text)


def was_stopped_by_us(stop: dict[str, Any]) -> bool:
    """Whether the exit record says that the supervisor ended the job because it was asked to."""
    ended = stop["status"].get("exit") or {}
    return ended.get("reason") == "stopped"


def lost_sight(jobs: dict[str, Any]) -> Failed | None:
    """Why nobody knows how a job ended, if so: no supervisor was left to write it down."""
    told = {role: job["status"] for role, job in jobs.items() if role != "gpu"}
    states = {role: status["state"] for role, status in told.items()}
    if "rebooted" in states.values() or any(map(_of_an_earlier_boot, told.values())):
        return Failed(Reason.NODE_REBOOTED, "The node was started anew during the run.")
    lost = [role for role, state in states.items() if state == "lost"]
    if not lost:
        return None
    text = f"The supervisor of the {' and of the '.join(lost)} on the node was killed."
    return Failed(Reason.SUPERVISOR_LOST, f"{text} What it had started was ended.")


def _of_an_earlier_boot(status: dict[str, Any]) -> bool:
    """An orderly reboot lets a supervisor write down that its job has ended: of the reboot."""
    begun, now = (status.get("started") or {}).get("boot_id"), status.get("boot_id")
    return bool(begun and now and begun != now)


def with_evidence(end: Ended, jobs: dict[str, Any]) -> Ended:
    """The end in the light of what stopping the jobs has shown."""
    if end.state != State.FAILED:
        return end
    seen = what_was_seen(jobs["server"]) if "server" in jobs else None
    return lost_sight(jobs) or why_the_node_ended_it(jobs) or seen or end


def conclude(run: Run, attempt: Attempt, jobs: dict[str, Any]) -> None:
    """Both logs whole, the load ended well, every level answered; then judge what was measured.

    Raises :class:`Failed` with the evidence when one of that is not so.
    """
    attempt.server_exit = jobs["server"]["status"].get("exit")
    attempt.load_exit = jobs["load"]["status"].get("exit")
    attempt.save(update_fields=["server_exit", "load_exit"])
    for role, job in jobs.items():
        stream = LogStream.objects.get(attempt=attempt, role=role)
        try:
            _prove_whole(stream, job["digest"])
        except Failed as failed:
            if role != LogStream.Role.GPU:
                raise
            note_trouble(attempt, failed.text)
    judge_attempt(attempt=attempt)
    _load_ended_well(attempt)


def digest_request(attempt: Attempt, role: str) -> dict[str, Any]:
    """The log to be hashed on the node, over the same ranges as were hashed here."""
    stream = LogStream.objects.get(attempt=attempt, role=role)
    return {"log": stream.path, "ranges": [[start, end] for start, end, _ in stream.hashed]}


def _prove_whole(stream: LogStream, digest: dict[str, Any]) -> None:
    """Received bytes against the node's: their count, and the hash of every range.

    A range of which the node has dropped bytes (its log was too long) cannot be asked for; then
    the hash that the node took as they were written decides, where one reader read everything.
    """
    dropped = digest.get("dropped")
    differing = [
        f"{start}-{end}"
        for (start, end, here), there in zip(stream.hashed, digest["ranges"], strict=True)
        if here != there and not (dropped and there is None)
    ]
    if stream.position != digest["size"] or differing:
        hashes = f", and the hashes of bytes {', '.join(differing)} differ" if differing else ""
        raise Failed(
            Reason.LOG_MISMATCH,
            f"The {stream.get_role_display()} has {digest['size']} bytes on the node, "
            f"{stream.position} are stored{hashes}.",
        )
    written = digest["sha256"] or ""
    stream.complete = not dropped or stream.hashed == [[0, stream.position, written]]
    stream.sha256 = written
    stream.save(update_fields=["complete", "sha256"])
    if dropped:
        _note_gap(stream, *dropped)


def _note_gap(stream: LogStream, start: int, end: int) -> None:
    """The node gave up the middle of a log that was too long, to keep its disk."""
    told = "They were read before that: the hash of everything is the node's."
    if not stream.complete:
        told = "Whether all of them were read before that cannot be proven."
    Event.objects.get_or_create(
        attempt=stream.attempt,
        run_id=stream.attempt.run_id,
        kind="log-capped",
        text=f"The {stream.get_role_display()} was too long for the node, which dropped "
        f"{end - start:,} bytes of its middle. {told}",
        defaults={"at": timezone.now(), "actor": "conductor"},
    )


def _load_ended_well(attempt: Attempt) -> None:
    fatal = attempt.events.filter(kind="load-fatal").first()
    code, signal = (_ended(attempt.load_exit, name) for name in ("code", "signal"))
    if fatal is not None:
        raise Failed(Reason.LOAD_FAILED, fatal.text)
    without = [
        f"At concurrency {level.concurrency}: {level.summary['problem']}"
        for level in attempt.levels.all()
        if level.summary.get("problem")
    ]
    if without:
        raise Failed(Reason.LOAD_FAILED, "\n".join(without))
    unanswered = [
        level.concurrency
        for level in attempt.levels.all()
        if level.state == Level.State.DONE and level.requests and level.failed >= level.requests
    ]
    if unanswered:
        raise Failed(
            Reason.REQUESTS_FAILED,
            f"Every request failed at concurrency {', '.join(map(str, unanswered))}.",
        )
    if code != 0 or attempt.levels.exclude(state=Level.State.DONE).exists():
        ended = f"exit status {code}" if code is not None else "no exit status"
        ended = f"signal {signal}" if signal is not None else ended
        if (attempt.load_exit or {}).get("reason") == "stopped":  # and it was not us
            ended += ", as its supervisor was told to stop,"
        text = f"The load driver ended with {ended} before its last level was done."
        raise Failed(Reason.LOAD_FAILED, text)


def _ended(record: dict[str, Any] | None, name: str) -> int | None:
    value = (record or {}).get(name)
    return value if isinstance(value, int) else None


def decided_end(attempt: Attempt | None) -> Ended | None:
    """The end that an earlier teller had planned for this attempt."""
    if attempt is None:
        return None
    stop = attempt.operations.filter(kind=Operation.Kind.STOP, n=2).first()
    if stop is None or "end" not in stop.request:
        return None
    told = stop.request["end"]
    end = (Failed if told["state"] == State.FAILED else Ended)(Reason(told["reason"]), told["text"])
    end.state = State(told["state"])
    return end


def with_last_lines(attempt: Attempt, end: Ended) -> str:
    """The end's text, the crash that the log names, and the log's last lines."""
    stream = LogStream.objects.filter(attempt=attempt, role=LogStream.Role.SERVER).first()
    if stream is None or end.state == State.CANCELLED or end.reason == Reason.LOAD_FAILED:
        return end.text  # what the tool said stands there already; the server only stopped
    engine = ENGINES[attempt.run.arm.config.engine]
    recent = stream.text(max(0, stream.position - 64 * 1024)).decode("utf-8", "replace")
    lines = recent.rstrip().splitlines()
    why = None
    if end.reason in (Reason.SERVER_DIED, Reason.NEVER_READY):
        why = engine.explain_crash(recent)
    parts = [f"{end.text.removesuffix('.')}: {why.removesuffix('.')}." if why else end.text]
    if lines:
        parts += [LOG_FOLLOWS, *lines[-LAST_LINES:]]
    return "\n".join(parts)
