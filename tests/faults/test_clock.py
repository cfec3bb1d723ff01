"""Our own clocks step: that of a process, and that of the database, by which all claims go."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db.models import F
from django.utils import timezone

from runs.actions.move import move
from runs.execution import ledger
from runs.execution.conductor import Conductor
from runs.models import Event, Leader, Operation, Run, Sample, State
from tests.faults.conftest import Scene, all_is_right, conduct, nothing_is_left, until_state

LONG = {"levels": [2], "requests_per_level": 32, "max_tokens": 32}
HOUR = timedelta(hours=1)


@pytest.mark.parametrize("hours", [1, -1])
def test_f48_a_step_of_a_processs_clock_takes_no_claim_and_costs_no_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """Conductor and workers of this process are an hour off from the middle of the run on."""
    now, seconds = timezone.now, time.time
    stolen: list[Any] = []

    async def step(_: Conductor, run: Run) -> None:
        await until_state(run, State.MEASURING)
        monkeypatch.setattr(timezone, "now", lambda: now() + hours * HOUR)
        monkeypatch.setattr(time, "time", lambda: seconds() + hours * 3600)
        for _ in range(5):
            stolen.extend(await sync_to_async(ledger.claim_due)("another"))
            assert not await sync_to_async(Leader.hold)("sweeps", "another", 30.0)
            await asyncio.sleep(0.1)

    run = conduct(scene.run(**LONG), step)
    assert run.state == State.SUCCEEDED, run.reason_text
    assert (stolen, run.claim_epoch) == ([], 1)
    nothing_is_left(run, scene.port)
    all_is_right(scene)


@pytest.mark.parametrize("hours", [1, -1])
def test_f48_a_step_of_the_databases_clock_has_the_run_told_again_at_once(
    scene: Scene, settings: Any, hours: int
) -> None:
    """As SQLite's does, which is the machine's. Moving what is stored is the same step."""
    settings.DURATIONS = replace(settings.DURATIONS, claim=4.0, heartbeat=0.8)

    async def step(conductor: Conductor, run: Run) -> None:
        await until_state(run, State.MEASURING)
        while not await Sample.objects.filter(stream__attempt__run=run).aexists():
            await asyncio.sleep(0.05)
        for task in list(conductor.telling.values()):
            task.cancel()  # as if its conductor had died at that moment
        moved = F("claim_expires_at") - hours * HOUR
        await Run.objects.filter(pk=run.pk).aupdate(claim_expires_at=moved)
        await Leader.objects.aupdate(expires_at=F("expires_at") - hours * HOUR)

    run = conduct(scene.run(**LONG), step)
    assert run.state == State.SUCCEEDED, run.reason_text
    assert run.claim_epoch == 2
    assert Event.objects.filter(run=run, kind="state", data__to=State.SUCCEEDED).count() == 1
    nothing_is_left(run, scene.port)
    all_is_right(scene)


@pytest.mark.parametrize("hours", [1, -1])
def test_f48_after_a_step_the_dead_hold_nothing_for_an_hour(scene: Scene, hours: int) -> None:
    run = scene.run()
    assert ledger.claim(run, "dead")
    assert ledger.claim_due("living") == []
    Run.objects.update(claim_expires_at=F("claim_expires_at") - hours * HOUR)
    assert ledger.claim_due("living") == [run]

    assert Leader.hold("sweeps", "dead", 30.0)
    Leader.objects.update(expires_at=F("expires_at") - hours * HOUR)
    assert Leader.hold("sweeps", "living", 30.0)
    assert not Leader.hold("sweeps", "dead", 30.0)

    run.refresh_from_db()
    assert ledger.acquire_host(acquiring(run), "living")
    operation = ledger.plan(run.attempts.get(), Operation.Kind.PREPARE, 1, 1, {})
    assert Operation.objects.claim(operation.pk, "dead")
    assert not ledger.take_back_abandoned(operation)
    Operation.objects.update(beat_at=F("beat_at") - hours * HOUR)
    assert ledger.take_back_abandoned(operation)


def acquiring(run: Run) -> Run:
    move(run, allowed_from=[State.QUEUED], to=State.ACQUIRING, epoch=run.claim_epoch, actor="x")
    return run
