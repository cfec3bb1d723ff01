from __future__ import annotations

import random

from hosts.demo.simulator.batching import Batching, Limits
from hosts.demo.simulator.generation import Plan, Request


class Counted:
    """A sink that counts."""

    def __init__(self) -> None:
        self.tokens = 0
        self.finish: str | None = None
        self.here = True

    def push(self, tokens: int) -> None:
        self.tokens += tokens

    def flush(self, finish: str | None) -> None:
        self.finish = finish or self.finish

    def alive(self) -> bool:
        return self.here


def batching(
    running: int = 4, kv_tokens: int = 10_000, chunk: int = 512, draft_tokens: int = 1
) -> Batching:
    return Batching(Limits(running, kv_tokens, chunk, 1.0, draft_tokens))


def request(
    prompt: int = 100,
    max_new: int = 50,
    natural_end: int | None = None,
    cached: int = 0,
    chances: tuple[float, ...] = (),
) -> Request:
    return Request(
        Plan("r", prompt, cached, max_new, natural_end, None, chances, chances), Counted()
    )


def start(queue: Batching, *requests: Request) -> None:
    for one in requests:
        queue.add(one)
    while (batch := queue.next_prefill()) is not None:
        queue.finish_prefill(batch)


def test_it_admits_no_more_than_the_running_limit() -> None:
    queue = batching(running=2)
    start(queue, *[request() for _ in range(5)])
    assert len(queue.running) == 2
    assert len(queue.waiting) == 3
    assert queue.pending_tokens == 300


def test_a_long_prompt_is_prefilled_in_chunks() -> None:
    queue = batching(chunk=512)
    queue.add(request(prompt=1200))
    shares = []
    while (batch := queue.next_prefill()) is not None:
        shares.append(batch.new_tokens)
        queue.finish_prefill(batch)
    assert shares == [512, 512, 176]
    assert queue.running[0].produced == 1


def test_short_prompts_share_a_batch() -> None:
    queue = batching()
    for _ in range(3):
        queue.add(request(prompt=100))
    batch = queue.next_prefill()
    assert batch is not None
    assert (len(batch.requests), batch.new_tokens, batch.running_before) == (3, 300, 0)


def test_cached_tokens_are_not_computed_again() -> None:
    queue = batching()
    queue.add(request(prompt=100, cached=64))
    batch = queue.next_prefill()
    assert batch is not None
    assert (batch.new_tokens, batch.cached_tokens) == (36, 64)


def test_a_request_ends_at_its_natural_end_or_its_limit() -> None:
    queue = batching()
    short, long = request(max_new=50, natural_end=3), request(max_new=5, natural_end=80)
    start(queue, short, long)
    rng = random.Random(1)
    for _ in range(10):
        queue.decode(rng)
    assert queue.idle
    assert (short.produced, short.plan.finish) == (3, "stop")
    assert (long.produced, long.plan.finish) == (5, "length")


def test_drafts_beyond_the_end_are_counted_but_not_delivered() -> None:
    queue = batching(draft_tokens=4)
    one = request(max_new=3, chances=(1.0, 1.0, 1.0))
    start(queue, one)
    counted, finished = queue.decode(random.Random(1))
    assert counted == 4
    assert finished == [one]
    assert one.produced == 3


def test_a_full_pool_retracts_the_request_with_the_fewest_tokens() -> None:
    queue = batching(kv_tokens=420)
    old = request(prompt=100, max_new=120)
    start(queue, old)
    for _ in range(60):
        queue.decode(random.Random(1))
    queue.token_ratio = 0.0
    young = request(prompt=100, max_new=120)
    start(queue, young)
    retraction = None
    while retraction is None:
        queue.decode(random.Random(1))
        retraction = queue.make_room() if queue.used_tokens + 2 > 330 else None
        queue.limits = Limits(4, 330, 512, 1.0, 1)
    assert retraction.requests == 1
    assert retraction.gained == young.held
    assert queue.running == [old]
    assert queue.waiting[0] is young
    assert retraction.ratio_after > retraction.ratio_before


def test_a_retracted_request_keeps_its_text_and_is_prefilled_again() -> None:
    queue = batching(kv_tokens=240)
    first, second = request(prompt=100, max_new=40), request(prompt=100, max_new=40)
    queue.token_ratio = 0.0
    for one in (first, second):
        queue.add(one)
        queue.running.append(queue.waiting.popleft())
        one.produced = 1
    rng = random.Random(1)
    while queue.make_room() is None:
        queue.decode(rng)
    victim = queue.waiting[0]
    assert victim.to_prefill == 100 + victim.produced > 101


def test_a_request_larger_than_the_whole_pool_is_given_up() -> None:
    queue = batching(kv_tokens=120)
    one = request(prompt=100, max_new=500)
    start(queue, one)
    rng = random.Random(1)
    while (gone := queue.overgrown()) is None:
        queue.decode(rng)
    assert gone is one
    assert queue.idle


def test_requests_of_clients_that_left_are_dropped() -> None:
    queue = batching(running=1)
    gone, waiting = request(), request()
    start(queue, gone, waiting)
    for one in (gone, waiting):
        assert isinstance(one.sink, Counted)
        one.sink.here = False
    queue.drop_gone()
    assert queue.idle
