"""Rows for tests and for looking at pages: each function makes one thing, with what it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from hosts.models import Host, HostFacts, HostKey
from people.models import Person
from runs.models import (
    Arm,
    Attempt,
    Campaign,
    Event,
    Level,
    LogStream,
    Note,
    Reason,
    Run,
    Sample,
    ServerConfig,
    State,
    Workload,
)
from runs.models.states import FINAL

LEVELS = (1, 4, 16)
# a public key of nobody
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPr0bl3mFr33K3yOfN0b0dyF0rT3stsOnly000000000"
FINGERPRINT = "SHA256:k3yOfN0b0dyF0rT3stsOnly0000000000000000abc"


def make_person(name: str = "operator") -> Person:
    person, _ = Person.objects.get_or_create(username=name)
    return person


def make_host(
    name: str = "llm-two", *, confirmed: bool = True, key: str = KEY, **values: Any
) -> Host:
    defaults = {"address": "127.0.0.1", "port": 22, "user": "bench", "key_path": "/keys/bench"}
    host, added = Host.objects.get_or_create(name=name, defaults={**defaults, **values})
    if added and confirmed:
        HostKey.objects.create(host=host, public=key, fingerprint=FINGERPRINT)
    return host


def make_facts(host: Host, **values: Any) -> HostFacts:
    data = {
        "hostname": host.name,
        "os": "Debian GNU/Linux 12",
        "kernel": "6.1.0",
        "cpu_model": "AMD EPYC 9354",
        "cpu_count": 64,
        "memory_bytes": 512 * 2**30,
        "python": "3.12.3",
        "disk_free_bytes": 900 * 2**30,
        "gpus": [
            {
                "index": i,
                "name": "RTX PRO 6000 Blackwell",
                "uuid": f"GPU-{i}",
                "memory_bytes": 96 * 2**30,
                "driver": "580.65",
            }
            for i in range(4)
        ],
        "gpu_note": None,
        "engines": [{"name": "sglang", "version": "0.5.11", "python": "/opt/sglang/bin/python3"}],
    }
    facts, _ = HostFacts.objects.update_or_create(
        host=host, defaults={"data": {**data, **values}, "probed_at": timezone.now()}
    )
    return facts


def make_campaign(question: str = "Does a second draft step pay?", **values: Any) -> Campaign:
    return Campaign.objects.create(question=question, **values)


def make_config(steps: int | None = 1, **values: Any) -> ServerConfig:
    flags: dict[str, Any] = {"--tp": 4}
    if steps:
        flags |= {
            "--speculative-algorithm": "NEXTN",
            "--speculative-num-steps": steps,
            "--speculative-eagle-topk": 1,
            "--speculative-num-draft-tokens": steps + 1,
        }
    defaults = {"engine": "sglang", "model": "/models/Qwen3.5-122B-A10B", "flags": flags}
    return ServerConfig.objects.create(**{**defaults, **values})


def make_workload(levels: Sequence[int] = LEVELS, **values: Any) -> Workload:
    defaults = {
        "driver": "probe",
        "requests_per_level": 24,
        "warmup_requests": 2,
        "prompt_set": "chat",
        "max_tokens": 256,
        "temperature": 0.0,
        "ignore_eos": True,
        "seed": 1,
        "request_timeout_s": 600.0,
    }
    return Workload.objects.create(levels=list(levels), **{**defaults, **values})


def make_arm(
    campaign: Campaign,
    name: str = "steps=1",
    *,
    steps: int | None = 1,
    workload: Workload | None = None,
    host: Host | None = None,
    config: ServerConfig | None = None,
) -> Arm:
    return Arm.objects.create(
        campaign=campaign,
        position=campaign.arms.count(),
        name=name,
        config=config or make_config(steps),
        workload=workload or make_workload(),
        host=host or make_host(),
    )


def make_run(arm: Arm, *, state: State = State.SUCCEEDED, **values: Any) -> Run:
    """A run in any state, with the times and the reason that the state demands."""
    begun = state not in (State.QUEUED, State.CANCELLED)
    now = timezone.now()
    defaults: dict[str, Any] = {
        "host": arm.host,
        "launch": arm.runs.count() + 1,
        "position": arm.campaign.runs.count() + 1,
        "queued_by": make_person(),
        "started_at": now - timedelta(minutes=9) if begun else None,
        "ended_at": now - timedelta(minutes=1) if state in FINAL else None,
        "reason": Reason.SERVER_DIED if state in FINAL and state != State.SUCCEEDED else "",
    }
    return Run.objects.create(campaign=arm.campaign, arm=arm, state=state, **{**defaults, **values})


def make_attempt(run: Run, **values: Any) -> Attempt:
    return Attempt.objects.create(run=run, n=run.attempts.count() + 1, **values)


def make_level(
    attempt: Attempt,
    concurrency: int,
    output_tps: float | None,
    *,
    state: str = Level.State.DONE,
    **values: Any,
) -> Level:
    """``user_tps`` follows from the aggregate unless it is given."""
    user = output_tps / concurrency if output_tps is not None else None
    defaults: dict[str, Any] = {
        "index": attempt.levels.count(),
        "requests": 24,
        "done": 24 if state == Level.State.DONE else 0,
        "user_tps": user,
    }
    return Level.objects.create(
        attempt=attempt,
        concurrency=concurrency,
        state=state,
        output_tps=output_tps,
        **{**defaults, **values},
    )


def make_measured_run(arm: Arm, values: Mapping[int, float], **run_values: Any) -> Run:
    """A run with its levels closed: ``values`` maps concurrency to output tok/s."""
    run = make_run(arm, **run_values)
    attempt = make_attempt(run)
    for concurrency, tps in values.items():
        make_level(attempt, concurrency, tps)
    return run


def make_stream(attempt: Attempt, role: str = LogStream.Role.SERVER, **values: Any) -> LogStream:
    return LogStream.objects.create(attempt=attempt, role=role, path=f"{role}.log", **values)


def make_samples(
    stream: LogStream, output_tps: Sequence[float], *, began: float = 1_780_000_000.0, **values: Any
) -> list[Sample]:
    """One decode line per value and second, numbered on from the stream's next number."""
    defaults: dict[str, Any] = {"phase": Sample.Phase.DECODE, "running": 16, "waiting": 0}
    defaults |= {"accept_len": 2.6, "token_usage": 0.5}
    samples = Sample.objects.bulk_create(
        Sample(
            stream=stream,
            seq=stream.next_seq + i,
            time=began + i,
            output_tps=tps,
            offset=(stream.next_seq + i) * 200,
            line=stream.next_seq + i,
            **{**defaults, **values},
        )
        for i, tps in enumerate(output_tps)
    )
    stream.next_seq += len(samples)
    stream.save(update_fields=["next_seq"])
    return samples


def make_event(run: Run, kind: str, text: str, *, at: datetime | None = None) -> Event:
    return Event.objects.create(run=run, kind=kind, text=text, at=at or timezone.now())


def make_note(text: str = "temperature=0 inflates acceptance.", **on: Any) -> Note:
    """``make_note(campaign=…)``; kind, author and anchor may be given too."""
    return Note.objects.create(text=text, **{"author": make_person(), **on})
