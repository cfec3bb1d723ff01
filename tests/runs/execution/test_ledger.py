"""Claims, leases and operations: who may do what, and that it happens once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from hosts.models import HostLease
from people.models import Person
from runs.actions.cancel import cancel_run
from runs.actions.move import NotAllowed, move
from runs.execution import ledger
from runs.models import Arm, Operation, Reason, Run, ServerConfig, State


def expire(run: Run) -> None:
    long_ago = timezone.now() - timedelta(hours=1)
    Run.objects.filter(pk=run.pk).update(claim_expires_at=long_ago)


def acquire(run: Run) -> None:
    assert ledger.claim(run, "a")
    move(run, allowed_from=[State.QUEUED], to=State.ACQUIRING, epoch=run.claim_epoch, actor="a")
    assert ledger.acquire_host(run, "a")


def test_launches_are_interleaved(runs: list[Run]) -> None:
    assert [run.arm.name for run in runs] == ["steps=1", "steps=2", "steps=2", "steps=1"]


def test_it_claims_one_run_per_free_host_in_order(runs: list[Run]) -> None:
    assert ledger.claim_due("a") == [runs[0]]


def test_a_claimed_run_is_not_claimed_again(runs: list[Run]) -> None:
    ledger.claim_due("a")
    assert not ledger.claim(Run.objects.get(pk=runs[0].pk), "b")


def test_a_stale_claim_passes_on_and_raises_the_epoch(run: Run) -> None:
    assert ledger.claim(run, "a")
    first = run.claim_epoch
    expire(run)
    later = Run.objects.get(pk=run.pk)
    assert ledger.claim(later, "b")
    assert later.claim_epoch == first + 1
    assert not ledger.renew(run)


def test_the_earlier_claimant_can_move_nothing(run: Run) -> None:
    assert ledger.claim(run, "a")
    expire(run)
    assert ledger.claim(Run.objects.get(pk=run.pk), "b")
    with pytest.raises(NotAllowed):
        move(run, allowed_from=[State.QUEUED], to=State.ACQUIRING, epoch=run.claim_epoch, actor="a")
    assert not run.events.exists()


def test_a_host_has_one_run_at_a_time(runs: list[Run]) -> None:
    acquire(runs[0])
    second = runs[1]
    assert ledger.claim(second, "a")
    move(
        second, allowed_from=[State.QUEUED], to=State.ACQUIRING, epoch=second.claim_epoch, actor="a"
    )
    assert not ledger.acquire_host(second, "a")
    second.refresh_from_db()
    assert second.waiting_for.startswith(f"node is held by {runs[0]} since ")
    assert ledger.claim_due("c") == []


def on_gpus(run: Run, gpus: list[int], port: int) -> Run:
    ServerConfig.objects.filter(pk=run.arm.config_id).update(gpus=gpus, port=port)
    return Run.objects.select_related("host", "arm__config").get(pk=run.pk)


def test_runs_on_other_gpus_share_a_host_and_one_on_the_same_waits(runs: list[Run]) -> None:
    first, second = on_gpus(runs[0], [0], 1), on_gpus(runs[1], [1], 2)
    assert ledger.claim_due("a") == [first, second]
    for run in (first, second):
        run = Run.objects.select_related("host", "arm__config").get(pk=run.pk)
        state = {"allowed_from": [State.QUEUED], "to": State.ACQUIRING}
        move(run, **state, epoch=run.claim_epoch, actor="a")
        assert ledger.acquire_host(run, "a")
    assert ledger.claim_due("a") == []  # the other two launches are of the same arms
    ledger.end(
        Run.objects.get(pk=first.pk), to=State.FAILED, reason=Reason.INTERNAL, text="x", actor="a"
    )
    assert ledger.claim_due("a") == [runs[3]]


def test_nobody_overtakes_a_run_that_waits_for_the_whole_host(runs: list[Run]) -> None:
    acquire(on_gpus(runs[0], [0], 1))
    last = runs[3]
    beside = ServerConfig.objects.create(engine="sglang", model="/m", gpus=[1], port=3)
    arm = Arm.objects.get(pk=last.arm_id)
    arm.pk, arm.name, arm.config, arm.position = None, "beside", beside, 9
    arm.save()
    Run.objects.filter(pk=last.pk).update(arm=arm)
    assert ledger.next_queued() == []  # the two before it want the whole host
    Run.objects.filter(pk__in=[runs[1].pk, runs[2].pk]).delete()
    assert ledger.next_queued() == [last]


def test_a_quarantine_is_overtaken_by_runs_on_other_gpus(runs: list[Run]) -> None:
    lost = on_gpus(runs[0], [0], 1)
    acquire(lost)
    HostLease.quarantine(lost.host, str(lost.uid), "it survived KILL")
    Run.objects.filter(pk=lost.pk).delete()
    other = on_gpus(runs[1], [1], 2)
    assert ledger.next_queued() == [other]
    assert runs[3].arm_id == lost.arm_id


def test_the_fence_rises_with_every_grant(runs: list[Run]) -> None:
    acquire(runs[0])
    ledger.end(runs[0], to=State.FAILED, reason=Reason.INTERNAL, text="x", actor="a")
    acquire(runs[1])
    runs[0].refresh_from_db()
    runs[1].refresh_from_db()
    assert runs[0].fence is not None
    assert runs[1].fence == runs[0].fence + 1


def test_the_end_frees_the_host_and_the_claim(run: Run) -> None:
    acquire(run)
    ledger.end(run, to=State.FAILED, reason=Reason.SERVER_DIED, text="it died", actor="a")
    run.refresh_from_db()
    assert run.ended_at
    assert run.claim_holder == ""
    assert not HostLease.objects.filter(host=run.host).exists()


def test_a_lost_run_keeps_its_host(run: Run) -> None:
    acquire(run)
    ledger.end(
        run, to=State.LOST, reason=Reason.UNREACHABLE, text="gone", actor="a", quarantine="gone"
    )
    lease = HostLease.objects.get(host=run.host)
    assert (lease.status, lease.why) == ("quarantined", "gone")


def test_an_operation_is_planned_once_and_taken_once(run: Run) -> None:
    acquire(run)
    attempt = run.attempts.get()
    first = ledger.plan(attempt, Operation.Kind.PREPARE, 1, 1, {"port": 1})
    again = ledger.plan(attempt, Operation.Kind.PREPARE, 1, 1, {"port": 2})
    assert first.pk == again.pk
    assert again.request == {"port": 1}
    assert Operation.objects.claim(first.pk, "w1")
    assert not Operation.objects.claim(first.pk, "w2")


def test_a_late_second_result_changes_nothing(run: Run) -> None:
    acquire(run)
    operation = ledger.plan(run.attempts.get(), Operation.Kind.PREPARE, 1, 1, {})
    Operation.objects.claim(operation.pk, "w")
    operation.refresh_from_db()
    assert operation.settle(result={"a": 1})
    assert not operation.settle(result={"a": 2})
    operation.refresh_from_db()
    assert operation.result == {"a": 1}


def sent(run: Run, worker: str) -> Operation:
    acquire(run)
    planned = ledger.plan(run.attempts.get(), Operation.Kind.PREPARE, 1, 1, {})
    assert Operation.objects.claim(planned.pk, worker)
    return Operation.objects.get(pk=planned.pk)


def fall_silent(operation: Operation, seconds: float) -> None:
    then = timezone.now() - timedelta(seconds=seconds)
    Operation.objects.filter(pk=operation.pk).update(beat_at=then)


def test_a_silent_workers_operation_is_taken_back_after_a_claims_length(run: Run) -> None:
    first = sent(run, "w1")
    fall_silent(first, 25)
    assert not ledger.take_back_abandoned(first)
    fall_silent(first, 31)
    assert ledger.take_back_abandoned(first)
    assert Operation.objects.claim(first.pk, "w2")
    second = Operation.objects.get(pk=first.pk)
    assert (second.tries, second.worker) == (2, "w2")


def test_f08_a_worker_that_was_overtaken_settles_nothing(run: Run) -> None:
    first = sent(run, "w1")
    fall_silent(first, 31)
    ledger.take_back_abandoned(first)
    assert not first.beat()
    assert not first.settle(result={"by": "w1"})
    assert Operation.objects.claim(first.pk, "w2")
    assert not first.beat()
    assert not first.settle(result={"by": "w1"})
    assert not first.fail(reason="unreachable", error="late")
    second = Operation.objects.get(pk=first.pk)
    assert second.beat()
    assert second.settle(result={"by": "w2"})


def test_f07_a_worker_that_ends_gives_back_what_it_holds_and_nothing_else(
    runs: list[Run],
) -> None:
    mine = sent(runs[0], "w1")
    assert Operation.objects.give_back("w2") == 0
    assert Operation.objects.give_back("w1") == 1
    mine.refresh_from_db()
    assert mine.state == Operation.State.PLANNED
    assert Operation.objects.claim(mine.pk, "w2")


def test_a_queued_run_is_cancelled_at_once(run: Run) -> None:
    by = Person.objects.create(username="owner")
    cancel_run(run=run, by=by)
    assert run.state == State.CANCELLED
    assert run.reason == Reason.BY_PERSON


def test_an_active_run_is_asked_to_stop_once(run: Run) -> None:
    by = Person.objects.create(username="owner")
    acquire(run)
    cancel_run(run=run, by=by)
    cancel_run(run=run, by=by)
    assert run.state == State.PREPARING
    assert run.cancel_requested_by == by
    assert run.events.filter(kind="cancel").count() == 1


def test_a_lost_link_is_an_overlay_and_not_a_state(run: Run) -> None:
    acquire(run)
    ledger.note_link(run, "link-lost", "no answer")
    run.refresh_from_db()
    assert (run.state, run.link, run.link_text) == (State.PREPARING, "reconnecting", "no answer")
    ledger.note_link(run, "unreachable", "refused")
    ledger.note_link(run, None)
    run.refresh_from_db()
    assert (run.link, run.link_text) == ("ok", "")


def test_f29_reconnecting_is_called_unreachable_after_45_s_and_keeps_its_beginning(
    run: Run,
) -> None:
    acquire(run)
    ledger.note_link(run, "link-lost", "gone")
    ledger.age_links()
    run.refresh_from_db()
    assert run.link == Run.Link.RECONNECTING
    begun = timezone.now() - timedelta(seconds=46)
    Run.objects.filter(pk=run.pk).update(link_since=begun)
    ledger.age_links()
    ledger.note_link(run, "link-lost", "gone again")
    run.refresh_from_db()
    assert (run.link, run.link_since) == (Run.Link.UNREACHABLE, begun)
    ledger.note_link(run, "login-refused", "refused")
    run.refresh_from_db()
    assert (run.link, run.link_since) == (Run.Link.LOGIN_REFUSED, begun)
    assert ledger.link_dead(run, 40) and not ledger.link_dead(run, 60)
