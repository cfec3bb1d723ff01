"""What nobody's story does: made by the one conductor that holds the sweep lease."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db.models.functions import Now

from hosts.links import Links
from hosts.transport.errors import TransportError
from runs.actions.move import NotAllowed, move
from runs.execution import ledger
from runs.execution.forgotten import settle_forgotten
from runs.models import Reason, Run, State
from runs.models.leader import Leader, Sign
from runs.outcomes import settle_tests
from runs.shares import look_again
from runs.stopping import take_looks
from runs.tasks import ring_canary

log = logging.getLogger(__name__)

NAME = "sweeps"


class Sweeps:
    """Deadlines of runs that nobody tells, LOST runs whose node is back, ended counter-experiments,
    looks of campaigns' plans, what share links froze, the workers' canary."""

    def __init__(self, holder: str, links: Links) -> None:
        self.holder = holder
        self.links = links
        self._next: dict[str, float] = {}
        self._looking: asyncio.Task[list[Run]] | None = None

    async def sweep(self) -> list[Run]:
        """Do what is due, if the lease is ours; the LOST runs claimed for late evidence."""
        hold = sync_to_async(Leader.hold)
        if not await hold(NAME, self.holder, settings.DURATIONS.claim):
            return []
        await sync_to_async(end_overdue)(self.holder)
        await sync_to_async(take_looks)()
        await sync_to_async(settle_tests)()
        if self._is_due("canary", settings.DURATIONS.canary):
            taken = await asyncio.to_thread(ring_canary)
            await sync_to_async(Sign.clear if taken else Sign.since)(Sign.BROKER_AWAY)
        if self._is_due("shares", settings.DURATIONS.share_look):
            await sync_to_async(look_again)()
        if self._is_due("late", settings.DURATIONS.late_look):
            await settle_forgotten(self.links)
            if self._looking is None:
                self._looking = asyncio.create_task(self._returned())
        return await self._found()

    async def _found(self) -> list[Run]:
        """What the look at lost runs has found; nodes that do not answer hold up nothing else."""
        if self._looking is None:
            return []
        await asyncio.wait([self._looking], timeout=settings.DURATIONS.sweep)
        if not self._looking.done():
            return []
        looking, self._looking = self._looking, None
        return looking.result()

    async def let_go(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        await sync_to_async(Leader.let_go)(NAME, self.holder)

    def _is_due(self, what: str, every: float) -> bool:
        now = asyncio.get_running_loop().time()
        if now < self._next.get(what, 0.0):
            return False
        self._next[what] = now + every
        return True

    async def _returned(self) -> list[Run]:
        """LOST runs whose node answers and knows how they ended, claimed for us."""
        lost = [run async for run in Run.objects.filter(state=State.LOST).select_related("host")]
        answers = await asyncio.gather(*(self._is_back(run) for run in lost))
        back = [run for run, yes in zip(lost, answers, strict=True) if yes]
        return [run for run in back if await sync_to_async(ledger.claim_lost)(run, self.holder)]

    async def _is_back(self, run: Run) -> bool:
        attempt = await run.attempts.order_by("-n").afirst()
        if attempt is None:
            return False
        try:
            node = await self.links.node(run.host_id)
            job = {"run": str(run.uid), "attempt": str(attempt.n), "role": "server"}
            status = await node.call("status", job)
        except (TransportError, OSError) as error:
            log.debug("%s is still away: %s", run.host, error)
            return False
        return bool(status["state"] != "absent")


def end_overdue(actor: str) -> None:
    """Runs that have been queued for longer than anybody waits for them."""
    limit = Now() - timedelta(seconds=settings.DURATIONS.queue_limit)
    for run in Run.objects.filter(ledger.unclaimed(), state=State.QUEUED, queued_at__lt=limit):
        hours = settings.DURATIONS.queue_limit / 3600
        why: dict[str, Any] = {
            "reason": Reason.NEVER_BEGUN,
            "text": f"It waited for {hours:.0f} h, its turn never came. {run.waiting_for}".strip(),
        }
        try:
            move(
                run, allowed_from=[State.QUEUED], to=State.TIMED_OUT, epoch=run.claim_epoch,
                actor=actor, **why,
            )  # fmt: skip
        except NotAllowed:
            log.info("%s was begun at the last moment", run)
