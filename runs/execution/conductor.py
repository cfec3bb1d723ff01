"""The conductor: claims runs and tells their stories, each as one task of one event loop."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable

from asgiref.sync import sync_to_async
from django.conf import settings

from hosts.links import Links
from runs.execution import findings, late, ledger
from runs.execution.endings import ClaimLost, Failed
from runs.execution.execute import execute, put_away
from runs.execution.recorder import Overtaken
from runs.execution.story import Story
from runs.execution.sweeps import Sweeps
from runs.models import Reason, Run, State
from runs.tasks import ring_imports
from webapp import database

log = logging.getLogger(__name__)


class Conductor:
    """Any number of conductors may run: a run belongs to the one whose claim is the latest."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"
        self.links = Links()
        self.sweeps = Sweeps(self.name, self.links)
        self.telling: dict[int, asyncio.Task[None]] = {}
        self._sweeping: asyncio.Task[None] | None = None
        self._bell = 0.0  # when imports are rung for next, on the monotonic clock

    async def conduct(self, go_on: Callable[[], bool]) -> None:
        """Sweep and renew claims until ``go_on`` says no; then let the runs go unharmed."""
        renewing = asyncio.create_task(self._keep_renewing())
        try:
            while go_on():
                await self._sweep()
                await asyncio.sleep(settings.DURATIONS.sweep)
        finally:
            renewing.cancel()
            await self._let_go()

    async def _sweep(self) -> None:
        if time.monotonic() >= self._bell:
            self._bell = time.monotonic() + settings.DURATIONS.bell
            await self._ring_imports()
        try:
            due = await sync_to_async(ledger.claim_due)(self.name)
            await sync_to_async(ledger.age_links)()
        except database.TROUBLE as error:
            await _mend("the database could not be asked for due runs", error)
            return
        if self._sweeping is None or self._sweeping.done():
            # beside the rest: a node that does not answer may keep it waiting
            self._sweeping = asyncio.create_task(self._sweep_for_all())
        await self._tell_all(due)

    async def _sweep_for_all(self) -> None:
        try:
            await self._tell_all(await self.sweeps.sweep())
        except database.TROUBLE as error:
            await _mend("the sweeps could not be made", error)
        except Exception:
            log.exception("the sweeps failed; they are made again")

    async def _tell_all(self, runs: list[Run]) -> None:
        for run in runs:
            log.info("%s: claimed %s (%s)", self.name, run, run.state)
            if (stale := self.telling.get(run.pk)) is not None:
                # our own heartbeat came too late: the earlier telling may write no more
                stale.cancel()
                await asyncio.gather(stale, return_exceptions=True)
            self.telling[run.pk] = asyncio.create_task(self._tell(run), name=str(run))

    async def _ring_imports(self) -> None:
        """Imports wait as rows: whoever lost their message is rung for again."""
        try:
            await sync_to_async(ring_imports)()
        except database.TROUBLE as error:
            await _mend("the database could not be asked for due imports", error)

    async def _tell(self, run: Run) -> None:
        try:
            await self._tell_story(run)
        except database.TROUBLE as error:
            await self._begin_again(run, error)
        except Exception:
            log.exception("%s could not be begun; its claim expires and it is told again", run)
        finally:
            if self.telling.get(run.pk) is asyncio.current_task():
                del self.telling[run.pk]

    async def _tell_story(self, run: Run) -> None:
        run = await Run.objects.select_related(
            "host", "arm__config", "arm__workload", "campaign"
        ).aget(pk=run.pk)
        story = await sync_to_async(Story)(run, self.links, self.name)
        try:
            await (late.correct(story) if run.state == State.LOST else execute(story))
            log.info("%s: %s is over: %s %s", self.name, run, run.state, run.reason)
        except (ClaimLost, Overtaken) as error:
            log.warning("%s: %s", self.name, error)
        except database.TROUBLE:
            raise  # the run is as it was: it is told again, and nothing on its node is touched
        except Exception as error:
            # a fault of ours: it must not leave a server running or a host held
            log.exception("%s failed", run)
            if run.state != State.LOST:
                await self._give_up(story, error)
        finally:
            await story.close()
            if run.state == State.LOST:
                await sync_to_async(ledger.release_claim)(run)

    async def _begin_again(self, run: Run, error: Exception) -> None:
        """Let the run go as soon as the database takes that; whoever is free tells it again."""
        await _mend(f"{run} is told again", error)
        while True:
            await asyncio.sleep(settings.DURATIONS.reconnect)
            try:
                return await sync_to_async(ledger.release_claim)(run)
            except database.TROUBLE as still:
                await _mend(f"{run} cannot be let go", still)

    async def _give_up(self, story: Story, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}. The conductor's log has the details."
        try:
            decided = await sync_to_async(findings.decided_end)(story.attempt)
            await put_away(story, decided or Failed(Reason.INTERNAL, text))
        except (ClaimLost, Overtaken) as lost:
            log.warning("%s: %s", self.name, lost)
        except database.TROUBLE:
            raise
        except Exception:
            log.exception(
                "%s could not be put away; its claim expires and it is told again", story.run
            )

    async def _keep_renewing(self) -> None:
        while True:
            await asyncio.sleep(settings.DURATIONS.heartbeat)
            for pk, task in list(self.telling.items()):
                try:
                    renewed = await sync_to_async(self._renew)(pk)
                except database.TROUBLE as error:
                    await _mend(f"the claim on run {pk} could not be renewed", error)
                    continue  # the next beat comes before the claim is stale
                if not renewed:
                    task.cancel()

    def _renew(self, pk: int) -> bool:
        run = Run.objects.filter(pk=pk, claim_holder=self.name).first()
        return run is not None and ledger.renew(run)

    async def _let_go(self) -> None:
        """A clean stop: another conductor goes on at once, nothing on any node is touched."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.gather(self._sweeping, return_exceptions=True)
        await self.sweeps.let_go()
        tasks = dict(self.telling)
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
        for run in [
            r async for r in Run.objects.filter(pk__in=list(tasks), claim_holder=self.name)
        ]:
            await sync_to_async(ledger.release_claim)(run)
        await self.links.close()


async def _mend(what: str, error: Exception) -> None:
    """Say it in a line (there will be many) and have the next query make a new connection."""
    log.warning("%s: %s", what, error)
    await sync_to_async(database.mend)()
