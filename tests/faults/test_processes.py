"""Whole processes killed, stopped and ended: the run goes on, started once, no line lost."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
import redis
from django.db import connections
from django.utils import timezone

from runs.actions.move import move
from runs.execution import ledger, verbs
from runs.models import Event, Leader, LogStream, Operation, Run, Sample, State
from tests.faults.conftest import Scene, all_is_right, nothing_is_left
from tests.faults.stack import RECOVERY_S, SCALE, Stack
from webapp.embedded import redis as embedded

LONG = {"levels": [4], "requests_per_level": 48, "max_tokens": 48}
CLAIM_S = 30.0 * SCALE


def reading(stack: Stack, run: Run) -> None:
    """The run measures and lines of its log arrive."""
    stack.until_state(run, State.MEASURING)
    count = Sample.objects.filter(stream__attempt__run=run).count()
    stack.until(
        "lines", lambda: Sample.objects.filter(stream__attempt__run=run).count() > count + 2
    )


def ends_well(scene: Scene, stack: Stack, run: Run) -> Run:
    ended = stack.until_final(run)
    assert ended.state == State.SUCCEEDED, ended.reason_text + stack.words()
    nothing_is_left(ended, scene.port)
    all_is_right(scene)
    starts = Operation.objects.filter(attempt__run=run, kind=Operation.Kind.START_LOAD)
    assert starts.count() == 1
    return ended


@pytest.mark.faults
@pytest.mark.slow
def test_f04_a_conductor_killed_while_it_reads_loses_and_doubles_no_line(
    scene: Scene, stack: Stack
) -> None:
    run = scene.run(**LONG)
    stack.worker()
    for n in range(3):
        conductor = stack.conductor()
        begun = time.monotonic()
        reading(stack, run)
        took = stack.full(time.monotonic() - begun)
        if n:
            print(f"conductor killed while it read: lines came again after {took:.0f} s")
            assert took < RECOVERY_S
        conductor.kill()
    stack.conductor()
    ended = ends_well(scene, stack, run)
    assert ended.claim_epoch == 4
    assert len(LogStream.objects.get(attempt__run=run, role="server").hashed) >= 3


@pytest.mark.faults
@pytest.mark.slow
def test_f13_a_worker_outlives_a_redis_that_dies_while_it_works(
    scene: Scene, stack: Stack, tmp_path: Path
) -> None:
    """Again and again, as only some of its deaths find the worker with a message in hand."""
    folder = tmp_path / "redis"
    server = embedded.start(folder)
    stack.redis_url = embedded.embedded_url(folder)
    try:
        worker = stack.worker("check-ready.carried-out=sleep:3")
        stack.conductor()
        run = scene.run(env={"SIM_STARTUP_S": "20"})
        stack.until_state(run, State.WAITING_READY)
        for _ in range(4):
            time.sleep(2.0)
            server.kill()
            server.wait()
            time.sleep(0.5)
            server = embedded.start(folder)
        ends_well(scene, stack, run)
        assert worker.process.poll() is None, worker.said()
    finally:
        stack.close()
        server.kill()
        server.wait()


@pytest.mark.faults
@pytest.mark.slow
def test_f07_a_conductor_that_is_told_to_end_hands_its_runs_over_at_once(
    scene: Scene, stack: Stack
) -> None:
    run = scene.run(**LONG)
    stack.worker()
    first = stack.conductor(name="first")
    reading(stack, run)
    second = stack.conductor(name="second")
    stack.until("begun", lambda: "second" in second.said() or time.sleep(1) or True)
    took = first.end()
    released = time.monotonic()
    stack.until("taken over", lambda: Run.objects.get(pk=run.pk).claim_holder == "second", 5.0)
    assert took < 5.0
    assert time.monotonic() - released < 5.0
    ends_well(scene, stack, run)


@pytest.mark.faults
@pytest.mark.slow
def test_f07_a_worker_that_is_told_to_end_leaves_nothing_behind(scene: Scene, stack: Stack) -> None:
    run = scene.run(**LONG)
    stack.conductor()
    first = stack.worker(armed="start-load.sent=sleep:8", name="w1")
    stack.until("sent", lambda: "failpoint start-load.sent fires" in first.said())
    begun = time.monotonic()
    first.process.terminate()
    stack.worker(name="w2")
    load = Operation.objects.filter(attempt__run=run, kind=Operation.Kind.START_LOAD)
    stack.until("done by the other", lambda: load.filter(state="done").exists(), 25.0)
    assert load.get().tries == 2
    assert time.monotonic() - begun < 25.0  # of which the other worker's start takes most
    ends_well(scene, stack, run)
    assert "operations were given back" in first.said()


@pytest.mark.faults
@pytest.mark.slow
def test_f08_a_conductor_that_was_stopped_and_goes_on_writes_nothing_any_more(
    scene: Scene, stack: Stack
) -> None:
    run = scene.run(**LONG)
    stack.worker()
    first = stack.conductor(name="first")
    reading(stack, run)
    first.suspend()
    stack.conductor(name="second")
    stack.until("taken over", lambda: Run.objects.get(pk=run.pk).claim_holder == "second")
    first.signal(signal.SIGCONT)
    ends_well(scene, stack, run)
    moved = Event.objects.filter(run=run, kind="state").order_by("pk")
    assert list(moved.values_list("actor", flat=True))[-2:] == ["second", "second"]


@pytest.mark.faults
@pytest.mark.slow
def test_f09_a_child_that_is_killed_again_and_again_costs_only_time_and_makes_no_storm(
    scene: Scene, stack: Stack
) -> None:
    """As by a machine without memory: each child dies at the order, the worker itself lives."""
    run = scene.run(**LONG)
    stack.conductor()
    deadly = stack.worker("start-load.sent=sigkill", name="w1")
    load = Operation.objects.filter(attempt__run=run, kind=Operation.Kind.START_LOAD)
    stack.until("the first death", lambda: "failpoint start-load.sent fires" in deadly.said())
    died = time.monotonic()
    stack.until("tried for the third time", lambda: load.get().tries >= 3)
    assert time.monotonic() - died > 1.5 * CLAIM_S  # though the message comes again at once
    assert deadly.process.poll() is None
    assert "signal 9 (SIGKILL)" in deadly.said()
    assert Run.objects.get(pk=run.pk).state == State.MEASURING
    deadly.end()
    killed = time.monotonic()
    stack.worker(name="w2")
    stack.until("done by another", lambda: load.filter(state="done").exists())
    assert stack.full(time.monotonic() - killed) < RECOVERY_S
    ends_well(scene, stack, run)


@pytest.mark.faults
@pytest.mark.slow
def test_f10_what_ends_while_nobody_is_there_is_caught_up_with(scene: Scene, stack: Stack) -> None:
    run = scene.run(**LONG)
    worker, conductor = stack.worker(), stack.conductor()
    reading(stack, run)
    worker.kill()
    conductor.kill()
    record = scene.home / ".local/state/throughline/runs" / str(run.uid) / "1/load/exit.json"
    stack.until("the load's end", record.exists)
    time.sleep(1.0)
    stack.worker(name="w2")
    stack.conductor()
    ends_well(scene, stack, run)


@pytest.mark.faults
@pytest.mark.slow
def test_f14_bells_that_are_lost_are_rung_again(scene: Scene, stack: Stack) -> None:
    run = scene.run(**LONG)
    stack.conductor()
    stack.worker()
    client = redis.Redis.from_url(stack.redis_url)
    flushing = True

    def flush() -> None:
        while flushing:
            client.flushall()
            time.sleep(0.7)

    thread = threading.Thread(target=flush)
    thread.start()
    try:
        stack.until_state(run, State.MEASURING)
    finally:
        flushing = False
        thread.join()
    ends_well(scene, stack, run)


def test_f18_ten_deliveries_at_once_are_carried_out_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried: list[int] = []

    async def prepare(*_: object) -> dict[str, object]:
        carried.append(1)
        time.sleep(0.2)
        return {"by": "one"}

    monkeypatch.setitem(verbs.VERBS, Operation.Kind.PREPARE, prepare)
    planned = planned_operation(scene)
    barrier = threading.Barrier(10)

    def deliver() -> None:
        barrier.wait()
        try:
            verbs.perform(planned.pk)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=deliver) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    planned.refresh_from_db()
    assert (planned.state, planned.tries, planned.result) == ("done", 1, {"by": "one"})
    assert carried == [1]


def test_f19_a_delivery_that_comes_again_while_the_work_goes_on_changes_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def prepare(*_: object) -> dict[str, object]:
        await asyncio.to_thread(deliver)  # the broker's visibility time-out has passed
        return {"by": "first"}

    def deliver() -> None:
        try:
            verbs.perform(planned.pk)
        finally:
            connections.close_all()

    monkeypatch.setitem(verbs.VERBS, Operation.Kind.PREPARE, prepare)
    planned = planned_operation(scene)
    verbs.perform(planned.pk)
    planned.refresh_from_db()
    assert (planned.state, planned.tries, planned.result) == ("done", 1, {"by": "first"})


def planned_operation(scene: Scene) -> Operation:
    run = scene.run()
    assert ledger.claim(run, "a")
    move(run, allowed_from=[State.QUEUED], to=State.ACQUIRING, epoch=run.claim_epoch, actor="a")
    assert ledger.acquire_host(run, "a")
    return ledger.plan(run.attempts.get(), Operation.Kind.PREPARE, 1, 1, {})


@pytest.mark.faults
@pytest.mark.slow
def test_f85_the_sweeps_pass_on_when_their_conductor_is_killed(stack: Stack) -> None:
    first = stack.conductor(name="first")
    stack.until("a leader", lambda: Leader.objects.filter(holder="first").exists())
    second = stack.conductor(name="second")
    time.sleep(CLAIM_S)
    assert Leader.objects.get().holder == "first"
    first.kill()
    killed = time.monotonic()
    stack.until("the second leads", lambda: Leader.objects.get().holder == "second")
    assert time.monotonic() - killed < 2 * CLAIM_S + 2.0
    assert second.process.poll() is None
    assert Leader.objects.get().expires_at > timezone.now() - timedelta(seconds=CLAIM_S)
