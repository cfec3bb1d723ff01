"""The conductor's own keeping: what may fail without harming a run."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError

from runs.execution import conductor as module
from runs.execution.conductor import Conductor
from runs.models import Run
from webapp.durations import Durations


@pytest.fixture(autouse=True)
def quick(settings: Any) -> None:
    settings.DURATIONS = replace(Durations(), heartbeat=0.02)


def test_a_busy_database_costs_one_heartbeat_and_not_all_of_them() -> None:
    beats: list[int] = []

    def renew(pk: int) -> bool:
        beats.append(pk)
        if len(beats) == 1:
            raise OperationalError("database is locked")
        return len(beats) < 3

    async def story() -> bool:
        conductor = Conductor("one")
        conductor._renew = renew  # type: ignore[method-assign]
        told = asyncio.create_task(asyncio.sleep(20))
        conductor.telling = {7: told}
        renewing = asyncio.create_task(conductor._keep_renewing())
        with suppress(asyncio.CancelledError):
            await told
        renewing.cancel()
        return told.cancelled()

    assert asyncio.run(story())
    assert beats == [7, 7, 7]


def test_a_run_that_cannot_be_begun_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its claim is renewed no longer, so that it is told again."""

    async def broken(self: Conductor, run: Run) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(module.Conductor, "_tell_story", broken)

    async def story() -> dict[int, Any]:
        conductor = Conductor("one")
        conductor.telling[7] = asyncio.create_task(conductor._tell(Run(pk=7)))
        await conductor.telling[7]
        return conductor.telling

    assert asyncio.run(story()) == {}


def test_a_run_whose_database_was_away_is_let_go_and_told_again(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.DURATIONS = replace(settings.DURATIONS, reconnect=0.01)
    tries: list[int] = []

    async def broken(self: Conductor, run: Run) -> None:
        raise InterfaceError("the connection is closed")

    def release(run: Run) -> None:
        tries.append(run.pk)
        if len(tries) == 1:
            raise OperationalError("the database system is starting up")

    monkeypatch.setattr(module.Conductor, "_tell_story", broken)
    monkeypatch.setattr(module.ledger, "release_claim", release)
    asyncio.run(Conductor("one")._tell(Run(pk=7)))
    assert tries == [7, 7]
