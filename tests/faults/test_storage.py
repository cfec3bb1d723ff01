"""A run whose log cannot be stored for a while."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from django.db import OperationalError

from runs.execution.conductor import Conductor
from runs.models import LogChunk, Run, State
from tests.faults.conftest import Scene, all_is_right, conduct, nothing_is_left, until_state

LOAD = {"levels": [2], "requests_per_level": 16, "max_tokens": 24}


def test_f51_while_the_disk_is_full_nothing_is_stored_and_then_everything(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, refused, real = threading.Event(), threading.Event(), LogChunk.save

    def save(chunk: LogChunk, *args: Any, **more: Any) -> None:
        if full.is_set():
            refused.set()
            raise OperationalError("database or disk is full")
        real(chunk, *args, **more)

    monkeypatch.setattr(LogChunk, "save", save)

    async def fill(_: Conductor, run: Run) -> None:
        await until_state(run, State.MEASURING)
        full.set()
        assert await asyncio.to_thread(refused.wait, 20)
        attempt = await run.attempts.aget()
        before = [s.position async for s in attempt.streams.order_by("pk")]
        await asyncio.sleep(2.0)
        assert [s.position async for s in attempt.streams.order_by("pk")] == before
        assert (await Run.objects.aget(pk=run.pk)).state == State.MEASURING
        full.clear()

    run = conduct(scene.run(**LOAD), fill)
    assert (run.state, run.reason_text) == (State.SUCCEEDED, "")
    assert run.attempts.count() == 1
    nothing_is_left(run, scene.port)
    all_is_right(scene)
