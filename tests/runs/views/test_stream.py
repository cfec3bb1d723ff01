"""The live stream: nothing is lost, nothing comes twice, Redis may be gone."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test import AsyncClient

from runs import live
from runs.models import GpuSample, Level, LogChunk, LogStream, Run, State
from runs.views import stream as stream_view
from runs.views.stream import Look
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_level,
    make_person,
    make_run,
    make_samples,
    make_stream,
)

pytestmark = pytest.mark.django_db(transaction=True)


def live_run(points: int = 3) -> tuple[Run, LogStream]:
    run = make_run(make_arm(make_campaign()), state=State.MEASURING)
    attempt = make_attempt(run)
    make_level(attempt, 4, None, state=Level.State.RUNNING, started=1_780_000_000.0)
    stream = make_stream(attempt)
    make_samples(stream, [100.0] * points)
    return run, stream


def look(run: Run, after: int = 0, log: int | None = None) -> Look:
    return Look(run.pk, after=after, log=log, csrf="token")


def told(events: list[bytes]) -> list[tuple[str, Any]]:
    """(event, data) of each message."""
    found = []
    for event in events:
        lines = dict(line.split(": ", 1) for line in event.decode().strip().splitlines())
        found.append((lines["event"], json.loads(lines["data"])))
    return found


def append_log(stream: LogStream, data: bytes) -> None:
    LogChunk.of(stream, stream.position, data).save()
    LogStream.objects.filter(pk=stream.pk).update(position=stream.position + len(data))
    stream.refresh_from_db()


def test_gpu_samples_come_behind_their_own_number_to_whoever_asks() -> None:
    run, stream = live_run()
    gpus = LogStream.objects.create(attempt=stream.attempt, role="gpu", path="gpu.jsonl")
    for seq in (1, 2, 3):
        GpuSample.objects.create(
            stream=gpus, seq=seq, time=1_780_000_000.0 + seq, gpu=0, sm_mhz=1980, offset=seq
        )
    watching = Look(run.pk, after=0, log=None, gpu=1, csrf="token")
    events = dict(told(watching.once()))
    assert events["gpu"]["seq"] == [2, 3]
    assert events["gpu"]["cols"]["power_w"] == [None, None]
    assert "gpu" not in dict(told(watching.once()))
    assert "gpu" not in dict(told(look(run).once()))


def test_the_first_look_gives_points_and_state() -> None:
    run, _ = live_run()
    events = dict(told(look(run).once()))
    assert events["points"]["seq"] == [1, 2, 3]
    assert set(events["state"]["parts"]) == {
        "head",
        "actions",
        "phases",
        "outcome",
        "gpu",
        "side",
        "windows",
        "numbers",
    }
    assert events["state"]["marks"]["levels"][0]["c"] == 4


def test_it_goes_on_behind_the_cursor() -> None:
    run, _ = live_run(5)
    events = dict(told(look(run, after=3).once()))
    assert events["points"]["seq"] == [4, 5]


def test_a_look_at_nothing_new_says_nothing() -> None:
    run, _ = live_run()
    watcher = look(run)
    watcher.once()
    assert watcher.once() == []


def test_new_points_bring_the_numbers_but_not_the_whole_page() -> None:
    run, stream = live_run()
    watcher = look(run)
    watcher.once()
    make_samples(stream, [120.0])
    events = dict(told(watcher.once()))
    assert events["points"]["seq"] == [4]
    assert set(events["state"]["parts"]) == {"numbers"}


def test_progress_is_a_change_of_state() -> None:
    run, _ = live_run()
    watcher = look(run)
    watcher.once()
    Level.objects.filter(attempt__run=run).update(done=11)
    events = dict(told(watcher.once()))
    assert "11" in events["state"]["parts"]["side"]


def test_each_batch_has_a_bound_and_the_rest_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_view, "BATCH", 4)
    run, _ = live_run(10)
    watcher, seen = look(run), []
    for _ in range(3):
        seen += dict(told(watcher.once()))["points"]["seq"]
    assert seen == list(range(1, 11)) and not watcher.behind


def test_every_points_event_carries_its_last_number_as_id() -> None:
    run, _ = live_run(3)
    assert look(run).once()[0].startswith(b"id: 3\nevent: points\n")


def test_log_lines_come_from_the_position_asked_for() -> None:
    run, stream = live_run()
    append_log(stream, b"old\n")
    watcher = look(run, log=4)
    assert "log" not in dict(told(watcher.once()))
    append_log(stream, b"<b>new</b>\n")
    event = dict(told(watcher.once()))["log"]
    assert (event["start"], event["end"], event["skipped"]) == (4, 15, 0)
    assert "&lt;b&gt;new&lt;/b&gt;" in event["html"]


def test_too_much_log_is_skipped_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_view, "LOG_BATCH", 100)
    run, stream = live_run()
    watcher = look(run, log=0)
    watcher.once()
    append_log(stream, b"a line of ten\n" * 50)
    event = dict(told(watcher.once()))["log"]
    assert event["skipped"] >= 600 and "left out" in event["html"]


def test_a_final_run_ends_the_stream_after_its_last_point() -> None:
    run = make_run(make_arm(make_campaign()))
    make_samples(make_stream(make_attempt(run)), [100.0])
    watcher = look(run)
    assert [name for name, _ in told(watcher.once())] == ["points", "state", "end"]
    assert watcher.ended


def test_a_new_attempt_makes_the_page_begin_anew() -> None:
    run, _ = live_run()
    watcher = look(run)
    watcher.once()
    make_stream(make_attempt(run))
    assert [name for name, _ in told(watcher.once())] == ["reset"]


def test_it_holds_no_connection_while_it_waits() -> None:
    run, _ = live_run()
    look(run).once()
    assert connection.connection is None


async def signed_in() -> AsyncClient:
    client = AsyncClient()
    await client.aforce_login(await sync_to_async(make_person)())
    return client


async def read_until(
    chunks: AsyncIterator[bytes], event: str, seconds: float = 5
) -> list[tuple[str, Any]]:
    """Messages up to the first ``event``."""
    seen: list[tuple[str, Any]] = []
    async with asyncio.timeout(seconds):
        async for chunk in chunks:
            if chunk.startswith(b"retry"):
                continue
            seen += told([chunk])
            if seen[-1][0] == event:
                return seen
    raise AssertionError(f"no {event} in {seen}")


async def test_it_answers_as_an_event_stream_without_redis() -> None:
    run, _ = await sync_to_async(live_run)()
    client = await signed_in()
    response = await client.get(f"/runs/{run.pk}/stream?after=1")
    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.headers["X-Accel-Buffering"] == "no"
    assert "no-cache" in response.headers["Cache-Control"]
    chunks = aiter(response.streaming_content)
    first = await read_until(chunks, "points")
    assert first[0][1]["seq"] == [2, 3]
    await read_until(chunks, "beat")  # polled: nothing rings here
    await chunks.aclose()


async def test_a_browser_that_reconnects_tells_where_it_was() -> None:
    run, _ = await sync_to_async(live_run)(5)
    client = await signed_in()
    response = await client.get(f"/runs/{run.pk}/stream?after=1", headers={"Last-Event-ID": "4"})
    chunks = aiter(response.streaming_content)
    assert (await read_until(chunks, "points"))[0][1]["seq"] == [5]
    await chunks.aclose()


async def test_a_ring_brings_the_point_at_once(
    redis_url: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS_URL = redis_url
    live._client.cache_clear()
    monkeypatch.setattr(live._Trouble, "until", 0.0)  # another test may have missed its Redis
    run, stream = await sync_to_async(live_run)()
    client = await signed_in()
    response = await client.get(f"/runs/{run.pk}/stream?after=3")
    chunks = aiter(response.streaming_content)
    await read_until(chunks, "state")

    def write() -> None:
        make_samples(stream, [333.0])
        live.announce(run.pk, "server")

    reading = asyncio.ensure_future(read_until(chunks, "points"))
    await asyncio.sleep(stream_view.PAUSE + 0.1)  # until it waits for the bell
    began = time.monotonic()
    await sync_to_async(write)()
    seen = await reading
    assert seen[-1][1]["cols"]["output_tps"] == [333.0]
    assert time.monotonic() - began < 1.0
    await chunks.aclose()
    live._client.cache_clear()
