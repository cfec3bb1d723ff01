"""The live stream of one run: server-sent events from the database, woken by the bell.

The database is the truth and :class:`runs.live.Watch` only a bell: each look reads what lies
behind the watcher's own cursor. So neither a lost ring nor a lost Redis can lose a point.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import redis
from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from runs.access import get_run
from runs.gpupage import gpu_after, newest_gpu_stream
from runs.live import Watch
from runs.loglines import BATCH as LOG_BATCH
from runs.loglines import log_part
from runs.models import Level, LogStream, Run
from runs.points import BATCH, newest_stream, points_after
from runs.runnumbers import baseline_readings, numbers
from runs.runpage import marks, run_page

LIFE = 600.0  # seconds; then the browser comes again with its own cursor
BEAT = 2.5  # seconds without a ring; the page says "reconnecting" after twice that
POLL = 2.0  # seconds between two looks while Redis cannot be asked
PAUSE = 0.3  # seconds at least between two looks, however often it rings
PARTS = (
    "head",
    "actions",
    "phases",
    "outcome",
    "windows",
    "gpu",
    "side",
)  # of the page, besides its numbers


@require_GET
async def run_stream(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Events ``points``, ``gpu``, ``state``, ``log``, ``beat``, ``end``, from the cursor given."""
    await sync_to_async(get_run)(pk)
    log = _number(request.GET.get("log"))
    gpu = _number(request.GET.get("gpu"))
    look = Look(pk, after=_after(request), log=log, gpu=gpu, csrf=get_token(request))
    response = StreamingHttpResponse(_events(pk, look), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache, no-transform"
    response["X-Accel-Buffering"] = "no"
    return response


def _after(request: HttpRequest) -> int:
    """A browser that reconnects by itself tells its last event; that is later than the address."""
    last = _number(request.headers.get("Last-Event-ID"))
    return max(_number(request.GET.get("after")) or 0, last or 0)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else None


async def _events(pk: int, look: Look) -> AsyncIterator[bytes]:
    """Look, send, wait for the bell; until the run has ended or this connection is old."""
    watch = Watch(pk)
    until = time.monotonic() + LIFE
    read = sync_to_async(look.once, thread_sensitive=False)
    try:
        await _listen(watch)
        yield b"retry: 2000\n\n"
        while time.monotonic() < until:
            sent = await read()
            for event in sent:
                yield event
            if look.ended:
                return
            if not sent:
                yield message("beat", {"now": time.time()})
            if not look.behind:
                await asyncio.sleep(PAUSE)
                await _wait(watch)
    finally:
        await watch.close()


async def _listen(watch: Watch) -> None:
    try:
        async with asyncio.timeout(POLL):
            await watch.start()
    except (redis.RedisError, TimeoutError):
        pass  # the same look is made by polling


async def _wait(watch: Watch) -> None:
    """Until it rings, but no longer than a beat: Redis may also be silent without an error."""
    try:
        async with asyncio.timeout(BEAT):
            await watch.wait(BEAT - PAUSE)
    except TimeoutError:
        return
    except redis.RedisError:
        await asyncio.sleep(POLL)


def message(event: str, data: Any, id: int | None = None) -> bytes:
    """One server-sent event. JSON holds no line end, so the data is one line."""
    head = f"id: {id}\n" if id is not None else ""
    return f"{head}event: {event}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


class Look:
    """One watcher's cursor. ``once`` reads what is new since the last time."""

    def __init__(
        self, run_id: int, *, after: int, log: int | None, csrf: str, gpu: int | None = None
    ) -> None:
        self.run_id = run_id
        self.csrf = csrf  # of the watcher's session, for the form that stops the run
        self.seq = after
        self.log = log
        self.gpu = gpu  # number of the last GPU sample; None: the watcher draws none
        self.attempt: int | None = None
        self.behind = False  # more was there than one look may carry
        self.ended = False
        self._seen: object = None

    def once(self) -> list[bytes]:
        """The events since last time. Holds a connection to the database only meanwhile."""
        try:
            return list(self._look())
        finally:
            if not connection.in_atomic_block:
                connection.close()

    def _look(self) -> Iterator[bytes]:
        attempt, stream = newest_stream(self.run_id)
        if self.attempt not in (None, attempt):
            # numbers and positions begin anew with an attempt; the page does so too
            self.ended = True
            yield message("reset", {"attempt": attempt})
            return
        if attempt:
            self.attempt = attempt
        run = get_run(self.run_id)  # before the points: a final state is told after the last one
        fresh = points_after(stream, self.seq, BATCH)
        self.behind = fresh.pop("more")
        if fresh["n"]:
            self.seq = fresh["seq"][-1]
            yield message("points", fresh, id=self.seq)
        yield from self._gpu()
        yield from self._state(run, bool(fresh["n"]))
        if stream is not None:
            yield from self._log(stream)
        if run.is_final and not self.behind:
            self.ended = True
            yield message("end", {"state": run.state})

    def _state(self, run: Run, numbers_too: bool) -> Iterator[bytes]:
        """Parts of the page, rendered by the page's own templates, when they have changed."""
        signature = state_signature(run)
        changed = signature != self._seen
        if not changed and not numbers_too:
            return
        self._seen = signature
        page = run_page(run)
        big = numbers(page, baseline_readings(page))
        context = {"page": page, "run": run, "numbers": big, "csrf": self.csrf}
        names = (*PARTS, "numbers") if changed else ("numbers",)
        parts = {name: render_to_string(f"runs/_run_{name}.html", context) for name in names}
        yield message("state", {"parts": parts, "marks": marks(page), "state": run.state})

    def _gpu(self) -> Iterator[bytes]:
        """Samples of the GPUs; their number is no event id, the page asks with it."""
        if self.gpu is None:
            return
        fresh = gpu_after(newest_gpu_stream(self.run_id)[1], self.gpu, BATCH)
        self.behind = fresh.pop("more") or self.behind
        if fresh["n"]:
            self.gpu = fresh["seq"][-1]
            yield message("gpu", fresh)

    def _log(self, stream: LogStream) -> Iterator[bytes]:
        if self.log is None:
            self.log = stream.position
        if stream.position <= self.log:
            return
        part = log_part(stream, self.log, limit=LOG_BATCH)
        self.log = part.end
        html = render_to_string("runs/_run_log_lines.html", {"part": part, "run_id": self.run_id})
        told = {"start": part.start, "end": part.end, "skipped": part.skipped, "html": html}
        yield message("log", {**told, "lines": stream.lines, "damaged": stream.damaged})


def state_signature(run: Run) -> object:
    """Equal as long as nothing but points and log has changed."""
    levels = Level.objects.filter(attempt__run=run).order_by("pk")
    told = levels.values_list("pk", "state", "done", "failed", "output_tps", "accept_len")
    last = run.events.order_by("-pk").values_list("pk", flat=True).first()
    own = [run.state, run.state_since, run.reason, run.waiting_for, run.link, run.link_text]
    return [*own, run.cancel_requested_at, last, run.caveats.count(), list(told)]
