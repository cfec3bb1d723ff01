"""Continuous batching without a clock: queue, admission, decode bookkeeping, retraction.

Everything here is a change of counters; scheduler.py gives it time. All sizes are tokens.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass

from .generation import Request
from .model import draw_accepted

START_RATIO = 0.7  # of the tokens a running request may still produce, kept free for it
LEAST_RATIO_SHARE = 0.14
RATIO_DECAY_STEPS = 600
RESERVE_AT_MOST = 4096  # of a request's max_tokens at admission
RETRACT_LOOKAHEAD_STEPS = 20


@dataclass(frozen=True)
class PrefillBatch:
    """Requests whose prompts are computed together; `shares` are their new tokens."""

    requests: tuple[Request, ...]
    shares: tuple[int, ...]
    running_before: int

    @property
    def new_tokens(self) -> int:
        return sum(self.shares)

    @property
    def cached_tokens(self) -> int:
        return sum(r.plan.cached_tokens for r in self.requests if r.prefilled == 0)


@dataclass(frozen=True)
class Retraction:
    """Requests put back into the queue because the KV pool is full."""

    requests: int
    gained: int
    ratio_before: float
    ratio_after: float


@dataclass(frozen=True)
class Limits:
    """What the launch allows."""

    running: int
    kv_tokens: int
    chunk: int
    conservativeness: float
    draft_tokens: int


class Batching:
    """The scheduler's queues."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.waiting: deque[Request] = deque()
        self.running: list[Request] = []
        self._ratio_start = min(1.0, START_RATIO * limits.conservativeness)
        self.token_ratio = self._ratio_start

    @property
    def idle(self) -> bool:
        return not self.waiting and not self.running

    @property
    def used_tokens(self) -> int:
        chunked = sum(request.prefilled for request in self.waiting)
        return sum(request.held for request in self.running) + chunked

    @property
    def token_usage(self) -> float:
        return self.used_tokens / self.limits.kv_tokens

    @property
    def pending_tokens(self) -> int:
        return sum(request.to_prefill for request in self.waiting)

    def add(self, request: Request) -> None:
        self.waiting.append(request)

    def drop_gone(self) -> None:
        """Forget requests whose clients hung up."""
        self.running = [request for request in self.running if request.sink.alive()]
        if any(not request.sink.alive() for request in self.waiting):
            self.waiting = deque(request for request in self.waiting if request.sink.alive())

    def next_prefill(self) -> PrefillBatch | None:
        """Take as many waiting requests as limit, chunk size and KV pool allow."""
        chosen: list[Request] = []
        shares: list[int] = []
        room = self.limits.chunk
        free = self._free_for_new()
        before = len(self.running)
        while self.waiting and room > 0 and before + len(chosen) < self.limits.running:
            request = self.waiting[0]
            needs = request.to_prefill + min(request.remaining, RESERVE_AT_MOST)
            if needs > free and (self.running or chosen):
                break
            share = min(room, request.to_prefill)
            chosen.append(request)
            shares.append(share)
            room -= share
            free -= needs
            if share < request.to_prefill:
                break  # a chunk: it stays first in the queue
            self.waiting.popleft()
        if not chosen:
            return None
        return PrefillBatch(tuple(chosen), tuple(shares), before)

    def finish_prefill(self, batch: PrefillBatch) -> list[Request]:
        """Requests that now have their first token (the last one may have been a mere chunk)."""
        started: list[Request] = []
        for request, share in zip(batch.requests, batch.shares):
            if self.waiting and request is self.waiting[0]:
                request.prefilled += share
                continue
            request.prefilled = 0
            request.produced += 1
            started.append(request)
            self.running.append(request)
        return started

    def make_room(self) -> Retraction | None:
        """Retract requests until the next step fits; those with the fewest tokens go first."""
        retracted: list[Request] = []
        gained = 0
        step = self.limits.draft_tokens
        while len(self.running) > 1:
            if self.used_tokens + step * len(self.running) <= self.limits.kv_tokens:
                break
            victim = min(self.running, key=lambda request: (request.produced, -request.held))
            self.running.remove(victim)
            gained += victim.held
            retracted.append(victim)
        if not retracted:
            return None
        for request in retracted:
            self.waiting.appendleft(request)
        before, self.token_ratio = self.token_ratio, self._ratio_after_retraction()
        return Retraction(len(retracted), gained, before, self.token_ratio)

    def overgrown(self) -> Request | None:
        """The last running request if even alone it no longer fits; it is then aborted."""
        if len(self.running) != 1:
            return None
        request = self.running[0]
        if request.held + self.limits.draft_tokens <= self.limits.kv_tokens:
            return None
        self.running.clear()
        return request

    def decode(self, rng: random.Random) -> tuple[int, list[Request]]:
        """One step: tokens counted by the engine, and the requests that ended with it.

        As in SGLang the count includes drafts accepted beyond a request's last token.
        """
        counted = 0
        for request in self.running:
            accepted = draw_accepted(request.accept_chances(), rng)
            counted += accepted
            delivered = min(accepted, request.plan.length - request.produced)
            request.produced += delivered
            request.sink.push(delivered)
        self._decay_ratio()
        return counted, self.release_finished()

    def release_finished(self) -> list[Request]:
        """Take the requests that have produced all their tokens out of the batch."""
        finished = [r for r in self.running if r.produced >= r.plan.length]
        if finished:
            self.running = [r for r in self.running if r.produced < r.plan.length]
        return finished

    def _free_for_new(self) -> float:
        reserved = sum(
            min(request.remaining, RESERVE_AT_MOST) * self.token_ratio for request in self.running
        )
        return self.limits.kv_tokens - self.used_tokens - reserved

    def _decay_ratio(self) -> None:
        least = self._ratio_start * LEAST_RATIO_SHARE
        self.token_ratio = max(
            least, self.token_ratio - (self._ratio_start - least) / RATIO_DECAY_STEPS
        )

    def _ratio_after_retraction(self) -> float:
        decoded = sum(request.produced for request in self.running)
        allowed = sum(request.plan.max_new for request in self.running)
        ahead = RETRACT_LOOKAHEAD_STEPS * len(self.running)
        return min(1.0, (decoded + ahead) / (allowed + 1))
