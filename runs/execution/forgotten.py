"""Leases whose run has ended but that were never given back: freed by evidence, else kept.

The end of a run and of its lease are one transaction, so this finds what a person or a restored
backup has left. A run that is LOST keeps its host, in quarantine: a person may free it, and its
node is asked for late evidence elsewhere (sweeps.py).
"""

from __future__ import annotations

import logging
from typing import Any

from asgiref.sync import sync_to_async

from hosts.launchers.process import LOGS
from hosts.links import Links
from hosts.models import HostLease
from hosts.node import KitError
from hosts.transport.errors import TransportError
from runs.models import Run, State
from runs.models.states import FINAL

log = logging.getLogger(__name__)

OVER = ("absent", "exited", "rebooted")  # a job of which nothing can live any more


async def settle_forgotten(links: Links) -> None:
    """Ask each node what lives of the run; one that cannot be asked is asked again later."""
    await sync_to_async(keep_lost)()
    for lease in await sync_to_async(forgotten)():
        run = await Run.objects.filter(uid=lease.holder).afirst()
        if run is None:
            why = f"{lease.holder_name or lease.holder} is not known here, nor what it started."
        else:
            try:
                why = await _what_lives(links, run)
            except (TransportError, KitError, OSError) as error:
                log.info("%s keeps %s until its node can be asked: %s", run, lease, error)
                continue
        await sync_to_async(_settle)(lease, why)


def forgotten() -> list[HostLease]:
    """Held, for a run that has ended (or is no run of ours)."""
    held = HostLease.objects.filter(status=HostLease.Status.HELD).select_related("host")
    state = {str(uid): state for uid, state in _states(held)}
    over = {str(final) for final in FINAL if final != State.LOST}
    return [lease for lease in held if state.get(lease.holder, "") in {"", *over}]


def keep_lost() -> None:
    """What a LOST run holds is nobody's to use, and a person's to free."""
    held = HostLease.objects.filter(status=HostLease.Status.HELD).select_related("host")
    state = {str(uid): state for uid, state in _states(held)}
    for lease in held:
        if state.get(lease.holder) == State.LOST:
            why = f"{lease.holder_name or 'A run'} was lost and may still run there."
            _settle(lease, why)


def _states(held: Any) -> Any:
    return Run.objects.filter(uid__in=[lease.holder for lease in held]).values_list("uid", "state")


async def _what_lives(links: Links, run: Run) -> str:
    """A sentence of what is still there; empty if the node says that nothing is."""
    node = await links.node(run.host_id)
    async for attempt in run.attempts.order_by("n"):
        for role in LOGS:
            job = {"run": str(run.uid), "attempt": str(attempt.n), "role": role}
            state = (await node.call("status", job))["state"]
            if state not in OVER:
                found = "still runs" if state == "running" else "was left without its supervisor"
                return f"{run} has ended, and its {role} {found} on the node."
    return ""


def _settle(lease: HostLease, why: str) -> None:
    if why:
        log.warning("%s goes into quarantine: %s", lease, why)
        HostLease.quarantine(lease.host, lease.holder, why)
    else:
        log.warning("%s had ended and still held %s: freed", lease.holder_name, lease)
        HostLease.release(lease.host, holder=lease.holder)
