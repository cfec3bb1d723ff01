"""What one conductor does for all of them."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, cast

import pytest
from django.test import Client
from django.utils import timezone

from hosts.actions.leases import free_quarantine
from hosts.links import Links
from hosts.models import HostLease
from hosts.transport.errors import Unreachable
from people.models import Person
from runs import tasks
from runs.execution import ledger, sweeps
from runs.execution.forgotten import settle_forgotten
from runs.models import Leader, Reason, Run, Sign, State
from tests.runs.execution.conftest import make_runs
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


class Told:
    """Links to a node that says one state of every job, or is away."""

    def __init__(self, state: str = "") -> None:
        self.state = state

    async def node(self, host: int, run: str = "") -> Told:
        if not self.state:
            raise Unreachable("no answer")
        return self

    async def call(self, command: str, request: dict[str, str]) -> dict[str, str]:
        assert command == "status"
        return {"state": self.state if request["role"] == "load" else "absent"}


def settle(state: str = "") -> None:
    asyncio.run(settle_forgotten(cast(Links, Told(state))))


@pytest.fixture
def left(transactional_db: None) -> HostLease:
    """A lease that is held although its run has ended."""
    run = make_runs()[0]
    acquire(run)
    settle("absent")
    lease = HostLease.objects.get(holder=str(run.uid))  # a run under way keeps its own
    ledger.end(run, to=State.FAILED, reason=Reason.UNKILLABLE, text="x", actor="a", quarantine="x")
    HostLease.objects.update(status=HostLease.Status.HELD, why="")
    return lease


@pytest.mark.parametrize("state", ["absent", "exited", "rebooted"])
def test_a_forgotten_lease_is_freed_when_the_node_says_that_nothing_lives(
    left: HostLease, state: str
) -> None:
    settle()
    assert HostLease.objects.get().status == HostLease.Status.HELD  # nobody could be asked
    settle(state)
    assert not HostLease.objects.exists()


@pytest.mark.parametrize("state", ["running", "lost"])
def test_a_forgotten_lease_of_what_still_lives_goes_into_quarantine(
    left: HostLease, state: str
) -> None:
    settle(state)
    kept = HostLease.objects.get()
    assert kept.in_quarantine
    assert "has ended, and its load" in kept.why
    settle("absent")
    assert HostLease.objects.get().in_quarantine  # a person frees it, or late evidence


def test_a_lost_run_keeps_its_lease_whatever_the_node_says_and_a_person_may_free_it(
    left: HostLease,
) -> None:
    Run.objects.filter(uid=left.holder).update(state=State.LOST)
    settle("absent")
    kept = HostLease.objects.get()
    assert kept.in_quarantine and "was lost and may still run there" in kept.why
    assert free_quarantine(lease=kept, note="looked", by=None)


def test_a_lease_of_a_run_that_nobody_knows_goes_into_quarantine(left: HostLease) -> None:
    HostLease.objects.update(holder="4c2f6d2e-0000-4000-8000-000000000000", holder_name="Run 9")
    settle("absent")
    assert HostLease.objects.get().why == "Run 9 is not known here, nor what it started."


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
