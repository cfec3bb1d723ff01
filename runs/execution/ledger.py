"""What a conductor reads and writes of runs: claims, operations, links. Plain ORM, no waiting."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from hosts.fence import Fence
from hosts.launchers.process import LOGS
from hosts.models import HostLease, HostLink, Installation, LinkState
from hosts.models.lease import machines, meet
from hosts.models.link import long_out, trouble, words, words_changed
from hosts.nodekit.failpoints import failpoint
from runs.actions.move import move
from runs.live import announce
from runs.models import Attempt, Event, Level, LogStream, Operation, Run, ServerConfig, State
from runs.models.states import ACTIVE, FINAL


def claim_expiry() -> Any:
    return Now() + timedelta(seconds=settings.DURATIONS.claim)


def unclaimed() -> Q:
    """No living claim. One that ends later than any could was made before the database's clock was
    set back; whoever made it would have renewed it since."""
    beyond = Now() + timedelta(seconds=2 * settings.DURATIONS.claim)
    over = Q(claim_expires_at__lt=Now()) | Q(claim_expires_at__gt=beyond)
    return Q(claim_expires_at=None) | over


def claim_due(holder: str) -> list[Run]:
    """Claim what needs a conductor: active runs without one, and the next run of each free host."""
    orphans = Run.objects.active().filter(unclaimed())
    wanted = [*orphans, *next_queued()]
    return [run for run in wanted if claim(run, holder)]


def next_queued() -> list[Run]:
    """The queued runs whose part of their host is free, those first that have waited longest.

    Nobody overtakes a run that waits for the same; one that a quarantine keeps waiting, perhaps
    for days, is overtaken.
    """
    machine = machines()
    leases = list(HostLease.objects.all())
    blocked = {_claim(machine, each.host_id, each) for each in leases if each.in_quarantine}
    taken = {_claim(machine, each.host_id, each) for each in leases if not each.in_quarantine}
    active = Run.objects.active().select_related("arm__config")
    taken |= {_claim(machine, run.host_id, run.arm.config) for run in active}
    queued = Run.objects.filter(unclaimed(), state=State.QUEUED, due_at__lte=Now())
    found = []
    # what comes after a look of its campaign's plan waits until somebody has looked
    queued = queued.filter(Q(campaign__next_look=None) | Q(launch__lte=F("campaign__next_look")))
    for run in queued.select_related("arm__config").order_by("queued_at", "position", "pk"):
        wanted = _claim(machine, run.host_id, run.arm.config)
        if _meets_any(wanted, blocked):
            continue
        if not _meets_any(wanted, taken):
            found.append(run)
        taken.add(wanted)
    return found


_Claim = tuple[str, tuple[int, ...], int | None]


def _claim(machine: dict[int, str], host: int, what: HostLease | ServerConfig) -> _Claim:
    known = machine.get(host, f"host {host}")  # it may have been added a moment ago
    return known, tuple(what.gpus), what.port


def _meets_any(wanted: _Claim, claims: set[_Claim]) -> bool:
    return any(wanted[0] == each[0] and meet(wanted[1:], each[1:]) for each in claims)


def claim(run: Run, holder: str) -> bool:
    """Take the run for ``holder``; its epoch rises, so an earlier holder can write no more."""
    rows = Run.objects.filter(unclaimed(), pk=run.pk).exclude(state__in=FINAL)
    taken = rows.update(
        claim_holder=holder, claim_epoch=F("claim_epoch") + 1, claim_expires_at=claim_expiry()
    )
    if taken == 1:
        run.refresh_from_db()
    return taken == 1


def claim_lost(run: Run, holder: str) -> bool:
    """Take a LOST run, to hold what its node says against it."""
    rows = Run.objects.filter(unclaimed(), pk=run.pk, state=State.LOST)
    taken = rows.update(
        claim_holder=holder, claim_epoch=F("claim_epoch") + 1, claim_expires_at=claim_expiry()
    )
    if taken == 1:
        run.refresh_from_db()
    return taken == 1


def renew(run: Run) -> bool:
    """Heartbeat. False if the claim has passed on (or the run has ended)."""
    mine = Run.objects.filter(pk=run.pk, claim_epoch=run.claim_epoch).exclude(claim_holder="")
    return mine.update(claim_expires_at=claim_expiry()) == 1


def release_claim(run: Run) -> None:
    """Let another conductor go on at once (this one is stopping)."""
    Run.objects.filter(pk=run.pk, claim_epoch=run.claim_epoch).update(claim_expires_at=Now())


@transaction.atomic
def acquire_host(run: Run, actor: str) -> bool:
    """Lease, attempt and levels in the transaction that moves to PREPARING."""
    config = run.arm.config
    lease = HostLease.grant(
        run.host,
        holder=str(run.uid),
        holder_name=str(run),
        gpus=config.gpus,
        port=config.port,
    )
    if lease is None:
        Run.objects.filter(pk=run.pk).update(waiting_for=(rival(run) or "")[:300])
        return False
    Run.objects.filter(pk=run.pk, claim_epoch=run.claim_epoch).update(fence=lease.fence)
    failpoint("acquire.granted")
    attempt = Attempt.objects.create(run=run, n=run.attempts.count() + 1)
    for role, path in LOGS.items():
        LogStream.objects.create(attempt=attempt, role=role, path=path)
    workload = run.arm.workload
    Level.objects.bulk_create(
        Level(attempt=attempt, index=i, concurrency=c) for i, c in enumerate(workload.levels)
    )
    move(
        run,
        allowed_from=[State.ACQUIRING],
        to=State.PREPARING,
        epoch=run.claim_epoch,
        actor=actor,
    )
    return True


def rival(run: Run) -> str | None:
    """Who has what this run needs, in a sentence; ``None`` if nobody has."""
    config = run.arm.config
    lease = HostLease.in_the_way(run.host, holder=str(run.uid), gpus=config.gpus, port=config.port)
    return lease.in_words(config.gpus, config.port) if lease else None


def fence_of(run: Run) -> Fence:
    """The run's claim as orders tell it; without a lease, with its last token alone."""
    lease = HostLease.of(run.host, str(run.uid))
    return lease.order() if lease else Fence(str(Installation.current().uid), run.fence or 0)


@transaction.atomic
def end(run: Run, *, to: State, reason: str, text: str, actor: str, quarantine: str = "") -> None:
    """Move to a final state and free the host, in one transaction.

    ``quarantine`` says why nobody may use what the run had, until a person has looked.
    """
    move(
        run,
        allowed_from=ACTIVE,
        to=to,
        epoch=run.claim_epoch,
        actor=actor,
        reason=reason,
        text=text,
    )
    failpoint("end.moved")
    if quarantine:
        HostLease.quarantine(run.host, str(run.uid), quarantine)
    else:
        HostLease.release(run.host, holder=str(run.uid))


@transaction.atomic
def end_late(
    run: Run, *, to: State, reason: str, text: str, actor: str, ended: datetime | None
) -> None:
    """Correct a LOST run by evidence that came late, and free its host: it is proven empty."""
    move(
        run,
        allowed_from=[State.LOST],
        to=to,
        epoch=run.claim_epoch,
        actor=actor,
        reason=reason,
        text=text,
    )
    if ended is not None:
        Run.objects.filter(pk=run.pk).update(ended_at=ended)
    Run.objects.filter(pk=run.pk).update(link=Run.Link.OK, link_since=Now(), link_text="")
    HostLease.release(run.host, holder=str(run.uid))


def plan(attempt: Attempt, kind: str, n: int, fence: int, request: dict[str, Any]) -> Operation:
    """The operation's row; the one of an earlier telling if there is one."""
    operation, _ = Operation.objects.get_or_create(
        attempt=attempt, kind=kind, n=n, defaults={"fence": fence, "request": request}
    )
    return operation


def plan_again(operation: Operation) -> None:
    """Put a failed operation back; verbs are safe to repeat."""
    _put_back(Operation.objects.filter(pk=operation.pk, state=Operation.State.FAILED))


def take_back_abandoned(operation: Operation) -> bool:
    """Put it back if the worker that took it has given no sign of life for a claim's length."""
    length = timedelta(seconds=settings.DURATIONS.claim)
    taken = Operation.objects.filter(pk=operation.pk, state=Operation.State.SENT)
    # a sign of life from the future is of before the database's clock was set back
    silent = Q(beat_at__lt=Now() - length) | Q(beat_at__gt=Now() + length) | Q(beat_at=None)
    return _put_back(taken.filter(silent)) == 1


def _put_back(rows: QuerySet[Operation]) -> int:
    return rows.update(
        state=Operation.State.PLANNED, reason="", error="", ended_at=None, sent_at=None
    )


def note_link(run: Run, reason: str | None, text: str = "") -> None:
    """The link overlay; ``None``: connected. Never a state: unreachable is not failed."""
    rows = Run.objects.filter(pk=run.pk, claim_epoch=run.claim_epoch)
    if reason is None:
        changed = rows.exclude(link=LinkState.OK).update(
            link=LinkState.OK, link_since=Now(), link_text=""
        )
    else:
        link, text = LinkState.of(reason), words(text)
        changed = rows.filter(words_changed(link, text)).update(
            link=link, link_since=trouble(link), link_text=text
        )
    if changed:
        announce(run.pk, "link")


def age_links() -> None:
    """Call unreachable what has been reconnecting for too long: runs, and hosts."""
    for pk in Run.objects.active().filter(long_out()).values_list("pk", flat=True):
        Run.objects.filter(long_out(), pk=pk).update(link=LinkState.UNREACHABLE)
        announce(pk, "link")
    HostLink.age()


def in_state_since(run: Run, seconds: float) -> bool:
    """Whether the run has been in its state for so long, by the database's clock."""
    limit = Now() - timedelta(seconds=seconds)
    return Run.objects.filter(pk=run.pk, state_since__lt=limit).exists()


def link_dead(run: Run, seconds: float) -> bool:
    """Whether the node has been out of reach for so long, by the database's clock."""
    limit = Now() - timedelta(seconds=seconds)
    out = Run.objects.filter(pk=run.pk, link_since__lt=limit).exclude(link=Run.Link.OK)
    return out.exists()


def note_silence(attempt: Attempt, role: str) -> None:
    """An event for a job that runs and prints nothing."""
    minutes = settings.DURATIONS.stall_warning / 60
    Event.objects.create(
        run=attempt.run,
        attempt=attempt,
        kind="stalled",
        at=timezone.now(),
        text=f"The {role} has printed nothing for {minutes:.0f} min.",
        actor="conductor",
    )
    announce(attempt.run_id, "state")
