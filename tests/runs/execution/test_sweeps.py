"""What one conductor does for all of them."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from hosts.links import Links
from hosts.models import HostLease
from people.models import Person
from runs import tasks
from runs.execution import ledger, sweeps
from runs.models import Leader, Reason, Run, Sign, State
from tests.runs.execution.test_ledger import acquire


def age(seconds: float) -> Any:
    return timezone.now() - timedelta(seconds=seconds)


def test_f85_one_of_two_holds_the_lease_and_the_other_takes_it_when_it_expires(db: None) -> None:
    assert Leader.hold("sweeps", "a", 30)
    assert not Leader.hold("sweeps", "b", 30)
    assert Leader.hold("sweeps", "a", 30)
    Leader.objects.update(expires_at=age(1))  # a was killed
    assert Leader.hold("sweeps", "b", 30)
    assert not Leader.hold("sweeps", "a", 30)
    Leader.let_go("sweeps", "a")
    assert not Leader.hold("sweeps", "a", 30)
    Leader.let_go("sweeps", "b")
    assert Leader.hold("sweeps", "a", 30)


@pytest.mark.django_db(transaction=True)
def test_f85_the_second_conductor_sweeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[str] = []
    monkeypatch.setattr(sweeps, "ring_canary", lambda: rung.append("rung"))

    async def both() -> None:
        first, second = (sweeps.Sweeps(name, Links()) for name in "ab")
        for _ in range(2):
            await first.sweep()
            await second.sweep()
        assert rung == ["rung"]
        await first.let_go()
        await second.sweep()
        assert rung == ["rung", "rung"]

    asyncio.run(both())


def test_a_run_that_waits_for_a_day_is_ended_and_says_for_what(run: Run, settings: Any) -> None:
    Run.objects.filter(pk=run.pk).update(
        queued_at=age(settings.DURATIONS.queue_limit - 60), waiting_for="node is held by Run 9"
    )
    sweeps.end_overdue("a")
    run.refresh_from_db()
    assert run.state == State.QUEUED
    Run.objects.filter(pk=run.pk).update(queued_at=age(settings.DURATIONS.queue_limit + 60))
    sweeps.end_overdue("a")
    run.refresh_from_db()
    assert (run.state, run.reason) == (State.TIMED_OUT, Reason.NEVER_BEGUN)
    assert run.reason_text == "It waited for 24 h, its turn never came. node is held by Run 9"


def test_a_lease_is_freed_for_a_run_that_has_ended_but_no_quarantine(runs: list[Run]) -> None:
    acquire(runs[0])
    mine = HostLease.objects.filter(holder=str(runs[0].uid))
    sweeps.free_forgotten()
    assert mine.exists()
    ledger.end(
        runs[0], to=State.LOST, reason=Reason.UNREACHABLE, text="x", actor="a", quarantine="x"
    )
    for state in (State.LOST, State.FAILED):
        Run.objects.filter(pk=runs[0].pk).update(state=state)
        sweeps.free_forgotten()
        assert mine.exists()  # a person frees it, or late evidence
    mine.update(status=HostLease.Status.HELD, why="")
    sweeps.free_forgotten()
    assert not mine.exists()


def test_only_a_lost_run_is_claimed_for_late_evidence(run: Run) -> None:
    acquire(run)
    assert not ledger.claim_lost(run, "b")
    ledger.end(run, to=State.LOST, reason=Reason.UNREACHABLE, text="x", actor="a", quarantine="x")
    first, second = Run.objects.get(pk=run.pk), Run.objects.get(pk=run.pk)
    assert ledger.claim_lost(first, "b")
    assert not ledger.claim_lost(second, "c")
    ledger.end_late(first, to=State.SUCCEEDED, reason="", text="", actor="b", ended=age(60))
    first.refresh_from_db()
    assert first.ended_at is not None and first.ended_at < age(59)
    assert not ledger.claim_lost(first, "b")
    assert not HostLease.objects.filter(holder=str(run.uid)).exists()


def test_f17_a_deaf_worker_turns_the_health_end_point_red(db: None, client: Client) -> None:
    assert client.get("/healthz/worker").status_code == 503
    tasks.answer_canary()
    fresh = client.get("/healthz/worker")
    assert fresh.status_code == 200
    assert fresh.json()["ok"] is True
    Sign.objects.update(at=age(91))
    late = client.get("/healthz/worker")
    assert late.status_code == 503
    assert late.json()["age_s"] > 90
    tasks.answer_canary()
    assert client.get("/healthz/worker").status_code == 200


def test_the_conductors_health_follows_the_sweep_lease(db: None, client: Client) -> None:
    assert client.get("/healthz/conductor").status_code == 503
    Leader.hold("sweeps", "a", 30)
    assert client.get("/healthz/conductor").status_code == 200
    Leader.objects.update(expires_at=age(31))
    assert client.get("/healthz/conductor").status_code == 503


def test_f10_every_page_says_since_when_no_worker_answers(db: None, client: Client) -> None:
    client.force_login(Person.objects.create(username="owner"))
    assert "No worker has answered" not in client.get("/").content.decode()
    Sign.give(Sign.WORKER)
    assert "No worker has answered" not in client.get("/").content.decode()
    then = age(3600)
    Sign.objects.update(at=then)
    page = client.get("/").content.decode()
    assert f"No worker has answered since {then:%H:%M} UTC" in " ".join(page.split())
