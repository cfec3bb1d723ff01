"""Faults that only PostgreSQL knows: bash scripts/postgres.sh .venv/bin/python -m pytest THIS."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection, connections, transaction

from runs.models import Attempt, Event, Operation, Run, State
from tests.faults.conftest import Scene, all_is_right, nothing_is_left
from tests.faults.postgres import Cluster
from tests.faults.stack import Stack
from webapp import database

pytestmark = pytest.mark.postgres
LOAD = {"levels": [4], "requests_per_level": 160, "max_tokens": 48}
RECOVERED_S = 30.0


@pytest.fixture
def cluster(transactional_db: None) -> Iterator[Cluster]:
    found = Cluster.of_the_tests()
    found.restart_safely()
    yield found
    connections.close_all()


def stored(run: Run) -> int:
    return sum(s.position for s in Attempt.objects.get(run=run).streams.all())


@pytest.mark.faults
@pytest.mark.slow
def test_f20_a_database_that_crashes_and_comes_back_costs_a_run_only_time(
    scene: Scene, stack: Stack, cluster: Cluster
) -> None:
    conductor, worker = stack.conductor(), stack.worker()
    run = scene.run(**LOAD)
    gaps = []
    for away_s in (0.0, 4.0):  # longer than a claim, which is 3 s here
        stack.until_state(run, State.MEASURING)
        before = stored(run)
        stack.until("it is read", lambda before=before: stored(run) > before)
        connections.close_all()
        cluster.stop()
        time.sleep(away_s)
        cluster.start()
        back = time.monotonic()
        before = stored(run)
        stack.until("it is read on", lambda before=before: stored(run) > before, RECOVERED_S)
        gaps.append(time.monotonic() - back)
    run = stack.until_final(run)
    assert (run.state, run.reason_text) == (State.SUCCEEDED, ""), stack.words()
    assert (conductor.process.poll(), worker.process.poll()) == (None, None)
    assert run.attempts.count() == 1
    starts = Operation.objects.filter(attempt__run=run, kind=Operation.Kind.START_LOAD)
    assert starts.get().state == Operation.State.DONE
    assert all(stream.complete for stream in run.attempts.get().streams.exclude(role="gpu"))
    nothing_is_left(run, scene.port)
    all_is_right(scene)
    print(f"read on after {', '.join(f'{gap:.1f} s' for gap in gaps)}")


@pytest.mark.faults
@pytest.mark.slow
def test_f20_a_database_that_crashes_around_an_operation_costs_it_nothing(
    scene: Scene, stack: Stack, cluster: Cluster
) -> None:
    """The worker is told to wait where it has the node's answer and has not written it down."""
    stack.worker(armed="start-server.carried-out=sleep:4")
    stack.conductor()
    run = scene.run()
    starts = Operation.objects.filter(attempt__run=run, kind=Operation.Kind.START_SERVER)
    stack.until("sent", lambda: starts.filter(state=Operation.State.SENT).exists())
    time.sleep(1.0)
    connections.close_all()
    cluster.stop()
    time.sleep(4.0)
    cluster.start()
    run = stack.until_final(run)
    assert (run.state, run.reason_text) == (State.SUCCEEDED, ""), stack.words()
    all_is_right(scene)


def test_f24_a_lock_that_is_not_had_is_given_up_and_had_the_next_time(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = scene.run()
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                Run.objects.select_for_update().get(pk=run.pk)
                held.set()
                over.wait(60)
        finally:
            connections.close_all()

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        held.wait(10)
        begun = time.monotonic()
        with pytest.raises(OperationalError, match="lock timeout"):
            Run.objects.filter(pk=run.pk).update(waiting_for="the lock")
        assert 4.0 < time.monotonic() - begun < 8.0
        threading.Timer(1.0, over.set).start()
        monkeypatch.setattr(database, "PAUSE_S", 0.1)
        rows = Run.objects.filter(pk=run.pk)
        assert database.persist(lambda: rows.update(waiting_for="the lock"), 20.0) == 1
    finally:
        over.set()
        holder.join()


def test_f24_who_holds_a_lock_and_idles_is_ended(scene: Scene) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone() == ("1min",)
        cursor.execute("SET idle_in_transaction_session_timeout = '300ms'")
    run = scene.run()

    @transaction.atomic
    def idle() -> None:
        Run.objects.select_for_update().get(pk=run.pk)
        time.sleep(1.0)
        Event.objects.filter(run=run).count()

    with pytest.raises(database.TROUBLE, match="idle-in-transaction"):
        idle()
    database.mend()
    assert Run.objects.filter(pk=run.pk).update(waiting_for="nobody") == 1
