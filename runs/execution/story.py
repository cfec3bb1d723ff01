"""The means by which one run's story is told: operations, waits, followers, state moves.

A story is resumable: each step finds its operation row and, if that is done, its result. So a
conductor that takes a run over tells it from the first line and arrives where the other one stood.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings

from hosts.fence import Fence
from hosts.links import Links
from hosts.node import KitError
from hosts.nodekit.failpoints import failpoint
from hosts.transport.errors import Dropped, TransportError
from runs.actions.move import NotAllowed, move
from runs.actions.store_gpu import store_gpu_records
from runs.actions.store_records import store_engine_records, store_load_records
from runs.drivers.gpu_records import GpuReader
from runs.drivers.registry import find_driver
from runs.engines.marks import marked
from runs.engines.registry import ENGINES
from runs.execution import ledger
from runs.execution.endings import Cancelled, ClaimLost, Failed, Lost
from runs.execution.follower import follow
from runs.execution.limits import Limits
from runs.execution.recorder import Recorder
from runs.models import Attempt, LogStream, Operation, Reason, Run, State
from runs.tasks import ring

POLL = 0.15  # seconds between two looks at an operation's row
# no link came about, nothing can have happened
NEVER_WAS = {"unreachable", "login-refused", "host-key-changed"}
LINK_REASONS = NEVER_WAS | {"link-lost", "command-timed-out"}


class Story:
    """One claimed run and what its steps need."""

    def __init__(self, run: Run, links: Links, teller: str) -> None:
        self.run = run
        self.links = links
        self.teller = teller
        self.attempt: Attempt | None = None
        self.fence: Fence | None = None
        self.engine = ENGINES[run.arm.config.engine]
        self.config = run.arm.config
        self.workload = run.arm.workload
        self.limits = Limits.of(run.campaign)
        self.following: dict[str, asyncio.Task[None]] = {}
        self.recorders: dict[str, Recorder] = {}
        self._heard: dict[str, tuple[int, float]] = {}
        self._putting_away = False

    # -- state

    async def move(self, allowed_from: Collection[State], to: State) -> None:
        """Go on to the next state; a story told again finds itself there already."""
        if self.run.state not in allowed_from:
            return
        try:
            await sync_to_async(move)(
                self.run,
                allowed_from=allowed_from,
                to=to,
                epoch=self.run.claim_epoch,
                actor=self.teller,
            )
        except NotAllowed as error:
            raise ClaimLost(str(error)) from error

    async def look(self) -> None:
        """Read the row again: stop if the claim has passed on, or a person said stop."""
        epoch = self.run.claim_epoch
        await self.run.arefresh_from_db(
            fields=["state", "claim_epoch", "claim_holder", "cancel_requested_at", "link"]
        )
        if self.run.claim_epoch != epoch:
            raise ClaimLost(f"{self.run} was taken over")
        if self.run.cancel_requested_at and not self._putting_away:
            raise Cancelled(await sync_to_async(self._canceller)())

    def _canceller(self) -> str:
        person = Run.objects.select_related("cancel_requested_by").get(pk=self.run.pk)
        return str(person.cancel_requested_by or "a person")

    def begin_putting_away(self) -> None:
        """From here on a further stop changes nothing."""
        self._putting_away = True

    # -- operations

    async def operation(self, kind: str, request: dict[str, Any], n: int = 1) -> dict[str, Any]:
        """Plan, ring, wait: the operation's result. Raises :class:`Failed` with its reason.

        Trouble with the link is waited out once something may run on the node; before that it
        ends the run, since nothing was started.
        """
        assert self.attempt is not None
        assert self.run.fence is not None
        planned = await sync_to_async(ledger.plan)(self.attempt, kind, n, self.run.fence, request)
        failpoint(f"{kind}.planned")
        if kind == Operation.Kind.STOP and planned.state == Operation.State.FAILED:
            # of an earlier telling; without it the host is never free
            await sync_to_async(ledger.plan_again)(planned)
        first = kind == Operation.Kind.PREPARE
        if planned.state == Operation.State.PLANNED:
            await (self._reach_first() if first else self._reach())
        while True:
            done = await self._await_end(planned)
            if done.state == Operation.State.DONE:
                failpoint(f"{kind}.heard")
                if self.run.link != Run.Link.OK:
                    await self.told(None)
                return dict(done.result or {})
            if done.reason not in (LINK_REASONS - NEVER_WAS if first else LINK_REASONS):
                raise Failed(_reason(done.reason), done.error)
            await self.link_trouble(done.reason, done.error)
            await asyncio.sleep(settings.DURATIONS.reconnect)
            await self._reach()
            await sync_to_async(ledger.plan_again)(done)

    async def _reach_first(self) -> None:
        """Nothing has been started: who cannot be reached now ends the run.

        A node that hangs up may only have had too many logins at that moment.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + settings.DURATIONS.unreachable
        while True:
            try:
                await self._link_up()
                return
            except TransportError as error:
                if not isinstance(error, Dropped) or loop.time() > until:
                    raise Failed(_reason(error.reason), str(error)) from error
                await self.told(error)

    async def _reach(self) -> None:
        """Wait for our own link, so that none of the few workers waits for a node that is away."""
        while True:
            try:
                await self._link_up()
                return
            except TransportError as error:
                await self.link_trouble(error.reason, str(error))
            await asyncio.sleep(settings.DURATIONS.reconnect)

    async def _link_up(self) -> None:
        """Our link to the node, and nothing that keeps the workers from having theirs."""
        await self.links.allowed(self.run.host_id)
        trying = asyncio.ensure_future(self.links.node(self.run.host_id, str(self.run.uid)))
        try:
            while not (await asyncio.wait([trying], timeout=settings.DURATIONS.bell))[0]:
                await self.look()
            trying.result()
        except KitError:
            return  # it was reached; the worker meets the same, and tells it
        finally:
            trying.cancel()
            await asyncio.gather(trying, return_exceptions=True)

    async def _await_end(self, operation: Operation) -> Operation:
        """Ring until a worker takes it, and wait until it is settled."""
        loop = asyncio.get_running_loop()
        next_ring = loop.time()
        while True:
            await self.look()
            await operation.arefresh_from_db()
            if operation.state in (Operation.State.DONE, Operation.State.FAILED):
                return operation
            if operation.state == Operation.State.SENT:
                await sync_to_async(ledger.take_back_abandoned)(operation)
            if operation.state == Operation.State.PLANNED and loop.time() >= next_ring:
                # of its own: a broker that is away must not keep others from the database
                await sync_to_async(ring, thread_sensitive=False)(operation.pk)
                next_ring = loop.time() + settings.DURATIONS.bell
            await asyncio.sleep(POLL)

    async def link_trouble(self, reason: str, text: str) -> None:
        """Show it, and give the run up as LOST only after ``lost_after`` seconds of it."""
        await self._note_link(reason, text)
        await self.look()

    async def told(self, error: TransportError | None) -> None:
        """What a follower heard of its link: trouble, or (``None``) that it is there."""
        await self._note_link(error.reason if error else None, str(error or ""))

    async def _note_link(self, reason: str | None, text: str) -> None:
        await sync_to_async(ledger.note_link)(self.run, reason, text)
        if reason is None:
            return
        if await sync_to_async(ledger.link_dead)(self.run, self.limits.lost_after_s):
            raise Lost(Reason.UNREACHABLE, text)

    # -- logs

    def job(self, role: str) -> dict[str, str]:
        assert self.attempt is not None
        return {"run": str(self.run.uid), "attempt": str(self.attempt.n), "role": role}

    async def follow(self, role: str) -> None:
        """Begin to read a job's log, if that has not begun."""
        if role in self.following:
            return
        recorder = self.recorders[role] = await sync_to_async(self._recorder)(role)
        reading = follow(self.links, self.run.host_id, self.job(role), recorder, self.told)
        self.following[role] = asyncio.create_task(reading, name=f"{self.run} {role}")

    def _recorder(self, role: str) -> Recorder:
        stream = LogStream.objects.select_related("attempt__run").get(
            attempt=self.attempt, role=role
        )
        if role == "load":
            return Recorder(stream, find_driver(self.workload.driver).reader, store_load_records)
        if role == "gpu":
            return Recorder(stream, GpuReader, store_gpu_records)
        return Recorder(stream, marked(self.engine.log_reader), store_engine_records)

    async def remark_silence(self, role: str) -> None:
        """Say once that a job's log has not grown for ``stall_warning`` seconds."""
        assert self.attempt is not None
        now = asyncio.get_running_loop().time()
        position = self.recorders[role].position
        seen, since = self._heard.get(role, (-1, now))
        if position != seen:
            self._heard[role] = (position, now)
        elif now - since > settings.DURATIONS.stall_warning:
            self._heard[role] = (position, float("inf"))
            if self.run.link == Run.Link.OK:
                await sync_to_async(ledger.note_silence)(self.attempt, role)

    def stored(self, role: str) -> int:
        """Bytes of the job's log that are stored by now."""
        return LogStream.objects.get(attempt=self.attempt, role=role).position

    async def wait_for(self, *roles: str, seconds: float) -> str | None:
        """The first of ``roles`` whose log has ended (its process has exited), else ``None``."""
        tasks = {role: self.following[role] for role in roles}
        await asyncio.wait(tasks.values(), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for role, task in tasks.items():
            if task.done():
                task.result()
                return role
        return None

    async def close(self) -> None:
        """Stop reading. What is stored stays; whoever goes on begins at the position."""
        for task in self.following.values():
            task.cancel()
        await asyncio.gather(*self.following.values(), return_exceptions=True)
        await self.links.leave(str(self.run.uid))


def _reason(value: str) -> Reason:
    return Reason(value) if value in Reason.values else Reason.OPERATION_FAILED
