"""Six arms of five launches and eight levels, with any number of samples behind them.

Stored as runs of our own are, and judged by the product's own action. Beside them: remarks of
every kind, and earlier launches on the same host to take the noise from.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

QUESTION = "Which number of draft steps pays? (benchmark)"
ARMS, LAUNCHES = 6, 5
LEVELS = (1, 2, 4, 8, 16, 32, 64, 128)
EARLIER = 100  # campaigns of one arm with five launches on the same host
BEGAN = 1_780_000_000.0
LINE_S, GAP_S = 2.0, 20.0  # between two lines, between two levels
SPREAD = (0.994, 1.003, 0.999, 1.006, 0.997)  # by which launches of an arm differ
LIMIT = 96


def stored(samples: int) -> str:
    """The arms' key, "1~2~3"; what stands in the database already is taken as it is."""
    from runs.models import Arm, Campaign

    kept = Campaign.objects.filter(question=QUESTION).first() or _store(samples)
    arms = Arm.objects.filter(campaign=kept).order_by("position")
    return "~".join(str(arm.pk) for arm in arms)


def _store(samples: int) -> Any:
    from django.db import transaction

    from hosts.models import Host, HostFacts
    from runs.actions.conclude import judge_attempt

    began = time.perf_counter()
    lines = samples // (ARMS * LAUNCHES * len(LEVELS))
    with transaction.atomic():
        host = Host.objects.create(name="bench")
        gpus = [{"index": i, "name": "H200"} for i in range(4)]
        now = datetime.now(UTC)
        HostFacts.objects.create(host=host, data={"gpus": gpus}, probed_at=now)
        _earlier(host)
        campaign = _campaign(host, QUESTION, range(ARMS))
        for attempt in _attempts(campaign):
            _log(attempt, lines)
    wrote = time.perf_counter()
    for run in campaign.runs.all():
        judge_attempt(attempt=run.attempts.get())
    _remarks(campaign)
    judged = time.perf_counter() - wrote
    print(f"stored in {wrote - began:.0f} s, {ARMS * LAUNCHES} launches judged in {judged:.0f} s")
    return campaign


def _campaign(host: Any, question: str, steps: range) -> Any:
    from runs.models import Arm, Campaign, ServerConfig, Workload

    campaign = Campaign.objects.create(question=question)
    workload = Workload.objects.create(
        driver="probe", levels=list(LEVELS), requests_per_level=400, warmup_requests=4,
        prompt_set="chat", max_tokens=256, temperature=0.0, ignore_eos=True, seed=1,
    )  # fmt: skip
    for position, n in enumerate(steps):
        flags: dict[str, Any] = {"--tp": 4, "--max-running-requests": LIMIT}
        if n:
            flags |= {
                "--speculative-algorithm": "NEXTN",
                "--speculative-num-steps": n,
                "--speculative-eagle-topk": 1,
                "--speculative-num-draft-tokens": n + 1,
            }
        config = ServerConfig.objects.create(engine="sglang", model="/models/some", flags=flags)
        Arm.objects.create(
            campaign=campaign, position=position, name=f"steps={n}" if n else "no speculation",
            config=config, workload=workload, host=host,
        )  # fmt: skip
    return campaign


def _earlier(host: Any) -> None:
    """Launches whose levels tell the host's noise; no log of them is read."""
    for n in range(EARLIER):
        campaign = _campaign(host, f"Earlier question {n}", range(1, 2))
        for attempt in _attempts(campaign, began=BEGAN - (n + 1) * 86_400):
            attempt.levels.filter(state="done").update(window_why="")


def _attempts(campaign: Any, began: float = BEGAN) -> Iterator[Any]:
    """One attempt for each launch, in interleaved order, with its measured levels."""
    from runs.models import Attempt, Level, Run, State

    arms = list(campaign.arms.all())
    for launch in range(LAUNCHES):
        for arm in arms:
            at = datetime.fromtimestamp(began, UTC)
            run = Run.objects.create(
                campaign=campaign, arm=arm, host=arm.host, launch=launch + 1,
                position=launch * len(arms) + arm.position, state=State.SUCCEEDED,
                started_at=at, ended_at=at + timedelta(minutes=30),
            )  # fmt: skip
            engines = [{"name": "sglang", "version": "0.5.11"}]
            gpus = [{"index": i, "name": "H200", "driver": "580.65"} for i in range(4)]
            attempt = Attempt.objects.create(run=run, facts={"engines": engines, "gpus": gpus})
            Level.objects.bulk_create(
                Level(
                    attempt=attempt, index=i, concurrency=c, state="done", requests=400, done=400,
                    output_tokens=102_400, **_figures(arm.position, launch, c),
                )
                for i, c in enumerate(LEVELS)
            )  # fmt: skip
            yield attempt
            began += 3600


def _speed(arm: int, launch: int, concurrency: int) -> float:
    """Output tok/s: a curve that saturates, a gain that fades with the load."""
    gain = 1 + 0.22 * arm / (1 + concurrency / 24)
    return 180 * concurrency / (1 + concurrency / 60) * gain * SPREAD[(launch + arm) % LAUNCHES]


def _figures(arm: int, launch: int, concurrency: int) -> dict[str, Any]:
    tps = _speed(arm, launch, concurrency)
    user = tps / concurrency
    return {
        "output_tps": tps,
        "user_tps": user,
        "ttft_s": 0.08 * SPREAD[launch] + 0.002 * concurrency,
        "tpot_s": 1 / user,
        "accept_len": 1 + 0.6 * arm,
    }


def _log(attempt: Any, lines: int) -> None:
    """A decode line every two seconds of each level, and the level's times around them."""
    from runs.actions.bulk import insert_samples
    from runs.models import Event, LogStream

    run = attempt.run
    stream = LogStream.objects.create(attempt=attempt, role="server", path="server.log")
    began, seq, rows = run.started_at.timestamp() + 300, 1, []
    for level in attempt.levels.order_by("index"):
        level.started, level.ended = began, began + LINE_S * lines
        running = min(level.concurrency, LIMIT)
        level.summary = {"inflight": [[began, level.concurrency], [level.ended, 0]]}
        level.save(update_fields=["started", "ended", "summary"])
        for n in range(lines):
            speed = level.output_tps * (1 + 0.03 * math.sin(seq))
            rows.append((
                stream.pk, seq, "decode", began + LINE_S * (n + 1), "", "", running,
                level.concurrency - running, 40_000 + seq % 1000, 0.3, 1 + 0.6 * run.arm.position,
                None, True, speed, None, None, None, None, "{}", seq * 160, seq,
            ))  # fmt: skip
            seq += 1
        began = level.ended + GAP_S
    insert_samples(rows)
    LogStream.objects.filter(pk=stream.pk).update(
        next_seq=seq, lines=seq, position=seq * 160, complete=True
    )
    Event.objects.create(
        run=run, attempt=attempt, stream=stream, offset=0, line=1, at=run.started_at,
        kind="capacity", text="capacity", data={"max_running_requests": LIMIT},
    )  # fmt: skip


def _remarks(campaign: Any) -> None:
    """A note on each arm and run, one on the comparison, a rule, a dismissal, a share link."""
    from people.models import Person
    from runs.actions.annotate import add_note
    from runs.actions.compare import keep_comparison, share_comparison
    from runs.actions.dismiss import dismiss
    from runs.actions.promote import promote

    by = Person.objects.create(username="benchmark")
    arms = list(campaign.arms.all())
    for arm in arms:
        add_note(on=arm, text=f"**{arm}** runs in blocks.", kind="note", by=by)
    for run in campaign.runs.all():
        add_note(on=run, text="The fans were loud.", kind="note", by=by)
    comparison = keep_comparison(arms=arms)
    add_note(on=comparison, text="Steps pay until the batch is large.", kind="finding", by=by)
    rule = add_note(on=campaign, text="temperature=0 flatters.", kind="caveat", by=by)
    promote(note=rule, predicate="workload.temperature == 0", by=by)
    dismiss(on=comparison, slug="greedy-sampling", reason="It is what we serve.", by=by)
    share_comparison(comparison=comparison, snapshot={"version": 1}, by=by, seconds=None)
