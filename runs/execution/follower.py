"""Follows one file of a job on its node to the end, over as many links as that takes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from asgiref.sync import sync_to_async
from django.conf import settings

from hosts.links import Links
from hosts.transport.errors import NoSession, TransportError
from runs.execution.recorder import Recorder

FLUSH_BYTES = 64 * 1024

LinkTold = Callable[[TransportError | None], Awaitable[None]]


async def follow(
    links: Links, host: int, job: dict[str, str], recorder: Recorder, told: LinkTold
) -> None:
    """Read until the job has exited and every byte of the file is stored.

    A lost link ends nothing: ``told`` hears of it (and of its return, with ``None``), and reading
    goes on from the recorder's position.
    """
    flush = sync_to_async(recorder.flush)
    while True:
        try:
            node = await links.node(host, job["run"])
            request = {**job, "path": recorder.stream.path, "offset": recorder.position}
            try:
                async with node.follow({**request, "wait": True}) as chunks:
                    await told(None)
                    await _drain(chunks, recorder)
            except NoSession:
                if links.set_aside(host, job["run"], node):
                    continue
                raise
            await flush(final=True)
            return
        except TransportError as error:
            await flush()
            recorder.rewind()
            await told(error)
            await asyncio.sleep(settings.DURATIONS.reconnect)


async def _drain(chunks: object, recorder: Recorder) -> None:
    """Feed the recorder; store at the latest ``flush`` seconds after bytes came in."""
    lock = asyncio.Lock()

    async def flush() -> None:
        async with lock:
            await sync_to_async(recorder.flush)()

    async def keep_flushing() -> None:
        while True:
            await asyncio.sleep(settings.DURATIONS.flush)
            if recorder.pending:
                await flush()

    flusher = asyncio.create_task(keep_flushing())
    try:
        async for data in chunks:  # type: ignore[attr-defined]
            async with lock:
                recorder.feed(data)
            if recorder.pending >= FLUSH_BYTES:
                await flush()
            if flusher.done():  # it can only have failed: let its error be told
                flusher.result()
    finally:
        flusher.cancel()
        with suppress(asyncio.CancelledError):
            await flusher
