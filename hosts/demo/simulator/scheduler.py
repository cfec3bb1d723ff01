"""The engine's loop: prefill or decode, one after another, on a schedule that does not drift.

The time of each step is the planned end of the one before plus the model's duration, so that a
busy machine delays single tokens but not the speed. The same planned times feed the log's tok/s.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from . import loglines
from .batching import Batching, PrefillBatch
from .generation import Request
from .model import (
    LINE_EFFECT_SD,
    STEP_EFFECT_SD,
    SpeedSettings,
    decode_seconds,
    prefill_seconds,
    stream_stride,
)
from .output import Log
from .tally import DecodeTally

LATE_AT_MOST_S = 0.5  # a machine that is later than this has stopped us: start a new schedule


@dataclass(frozen=True)
class Graphs:
    """What was captured: largest batch, exact sizes (without padding), largest prefill."""

    batches: frozenset[int]
    padding: bool
    prefill_tokens: int

    def covers(self, batch: int) -> bool:
        if self.padding:
            return bool(self.batches) and batch <= max(self.batches)
        return batch in self.batches


class Scheduler:
    """Runs requests; totals are counted for /metrics and /server_info."""

    def __init__(
        self,
        batching: Batching,
        speed: SpeedSettings,
        graphs: Graphs,
        tally: DecodeTally,
        log: Log,
        seed: int,
        stream_interval: int,
    ) -> None:
        self.batching = batching
        self.tally = tally
        self.generated = 0
        self.prompt_tokens = 0
        self.out_of_memory = False  # set: the next real prefill dies
        self.failed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.frozen = False
        self.slowdown = 1.0  # of every step; more while the GPUs are too hot
        self._speed = speed
        self._graphs = graphs
        self._log = log
        self._rng = random.Random(f"steps {seed}")
        self._interval = stream_interval
        self._line_effect = 1.0
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._at = self._loop.time()
        self._last_prefill = self._at
        self._step = 0

    def submit(self, request: Request) -> None:
        self.batching.add(request)
        self._wake.set()

    async def run(self) -> None:
        """For ever: the next piece of work, or sleep until a request comes."""
        while True:
            self.batching.drop_gone()
            if self.batching.idle or self.frozen:
                self._wake.clear()
                await self._wake.wait()
                self._at = max(self._at, self._loop.time())
                continue
            batch = self.batching.next_prefill()
            if batch is not None:
                await self._prefill(batch)
            else:
                await self._decode()

    def freeze(self) -> None:
        """Stop stepping, as a hung scheduler does; nothing is answered any more."""
        self.frozen = True

    async def _prefill(self, batch: PrefillBatch) -> None:
        if self.out_of_memory and batch.new_tokens > 1:
            self.failed.set_result("out of memory")
            self.frozen = True
            return
        await self._pass_time(prefill_seconds(self._speed, batch.new_tokens) * self._noise())
        cached = batch.cached_tokens
        for request in self.batching.finish_prefill(batch):
            self.generated += 1
            self.prompt_tokens += request.plan.prompt_tokens
            request.sink.push(1)
            request.sink.flush(None)
        self._report_prefill(batch, cached)
        self._end(self.batching.release_finished())

    def _report_prefill(self, batch: PrefillBatch, cached: int) -> None:
        queue = self.batching
        self._log.scheduler(
            loglines.prefill(
                loglines.PrefillFacts(
                    new_seq=len(batch.requests),
                    new_tokens=batch.new_tokens,
                    cached_tokens=cached,
                    token_usage=queue.token_usage,
                    running=batch.running_before,
                    queue=len(queue.waiting),
                    pending_tokens=queue.pending_tokens,
                    graph=batch.new_tokens <= self._graphs.prefill_tokens,
                    input_tps=batch.new_tokens / max(self._at - self._last_prefill, 1e-9),
                )
            )
        )
        self._last_prefill = self._at

    async def _decode(self) -> None:
        self._make_room()
        running = list(self.batching.running)
        if not running:
            return
        graph = self._graphs.covers(len(running))
        mean = decode_seconds(self._speed, len(running), self.batching.used_tokens, graph)
        seconds = mean * self._line_effect * self._noise()
        await self._pass_time(seconds)
        tokens, finished = self.batching.decode(self._rng)
        self.generated += tokens
        self._flush_due(running, stream_stride(len(running), mean, self._interval))
        self._end(finished)
        if self.tally.step(tokens, len(running)):
            self._report_decode(len(running), graph)

    def _make_room(self) -> None:
        retraction = self.batching.make_room()
        if retraction is not None:
            self._log.scheduler_warning(
                loglines.retraction(
                    retraction.requests,
                    retraction.gained,
                    retraction.ratio_before,
                    retraction.ratio_after,
                )
            )
        overgrown = self.batching.overgrown()
        if overgrown is not None:
            self._log.scheduler_warning("retract_decode: aborted last request due to OOM")
            overgrown.sink.flush("abort")

    def _flush_due(self, running: list[Request], stride: int) -> None:
        """Send the tokens of every stride-th step; requests take turns, so writes stay even."""
        self._step += 1
        for turn, request in enumerate(running):
            if (self._step + turn) % stride == 0:
                request.sink.flush(None)

    def _report_decode(self, running: int, graph: bool) -> None:
        accept_len = self.tally.line(self._at)
        self._log.scheduler(
            loglines.decode(
                loglines.DecodeFacts(
                    running=running,
                    tokens=self.batching.used_tokens,
                    token_usage=self.batching.token_usage,
                    accept_len=accept_len,
                    draft_tokens=self._speed.speculation.draft_tokens,
                    graph=graph,
                    gen_tps=self.tally.last_tps,
                    queue=len(self.batching.waiting),
                )
            )
        )
        self._line_effect = 1.0 + self._rng.gauss(0.0, LINE_EFFECT_SD)

    def _end(self, finished: list[Request]) -> None:
        for request in finished:
            request.sink.flush(request.plan.finish)

    def _noise(self) -> float:
        return 1.0 + self._rng.gauss(0.0, STEP_EFFECT_SD)

    async def _pass_time(self, seconds: float) -> None:
        self._at += seconds * self.slowdown
        left = self._at - self._loop.time()
        if left < -LATE_AT_MOST_S:
            self._at = self._loop.time()
        await asyncio.sleep(max(0.0, left))

    def abort_all(self) -> int | None:
        """End everything in flight (shutdown); returns how many there were."""
        every = [*self.batching.running, *self.batching.waiting]
        self.batching.running.clear()
        self.batching.waiting.clear()
        for request in every:
            request.sink.flush("abort")
        return len(every)
