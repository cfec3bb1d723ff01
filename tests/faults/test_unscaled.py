"""Eight rows of docs/faults.md with no duration shortened: the times stand there as they are."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest
import redis

from runs.models import Event, Leader, Operation, Run
from tests.faults.conftest import Scene
from tests.faults.stack import Stack, Started
from tests.faults.test_processes import ends_well, reading

pytestmark = [pytest.mark.faults, pytest.mark.slow]

# a minute of load, so that whoever takes over finds it going on
LONG = {"levels": [4], "requests_per_level": 64, "max_tokens": 160}
TAKEN_OVER_S = 45.0  # a claim of 30 s, and a look at it every 10
REPEATED_S = 60.0
WORKER_S = 10.0  # until a worker takes messages


@pytest.fixture
def stack(stack: Stack) -> Stack:
    stack.scale = 1.0
    return stack


def took(stack: Stack, what: str, look: Callable[[], object], most: float) -> None:
    """Until ``look`` is true, which must be within ``most`` seconds."""
    begun = time.monotonic()
    stack.until(what, look, most)
    print(f"{what}: {time.monotonic() - begun:.1f} s (at most {most:.0f})")


def held_by(run: Run, name: str) -> bool:
    return Run.objects.get(pk=run.pk).claim_holder == name


def dead_at(stack: Stack, victim: Started, failpoint: str) -> None:
    stack.until(f"dead at {failpoint}", lambda: f"failpoint {failpoint} fires" in victim.said())
    victim.kill()  # the whole of a worker, not one process of its pool


def done(run: Run, kind: str) -> bool:
    return Operation.objects.filter(attempt__run=run, kind=kind, state="done").exists()


def is_repeated(scene: Scene, stack: Stack, failpoint: str) -> None:
    """An order whose worker is killed at ``failpoint`` is carried out by another, once."""
    run, kind = scene.run(), failpoint.partition(".")[0]
    victim = stack.worker(armed=f"{failpoint}=sigkill")
    stack.conductor()
    dead_at(stack, victim, failpoint)
    stack.worker(name="w2")
    took(stack, f"{kind} is done", lambda: done(run, kind), REPEATED_S)
    ends_well(scene, stack, run)


def test_f1_a_claim_of_a_killed_conductor_passes_on(scene: Scene, stack: Stack) -> None:
    run = scene.run()
    first = stack.conductor(name="first")
    stack.until("planned", lambda: Operation.objects.filter(attempt__run=run).exists())
    first.kill()
    stack.conductor(name="second")
    took(stack, "F1 claimed by the second", lambda: held_by(run, "second"), TAKEN_OVER_S)
    stack.worker()
    ends_well(scene, stack, run)


@pytest.mark.parametrize("failpoint", ["start-server.taken", "start-server.carried-out"])
def test_f2_a_start_whose_worker_was_killed_is_repeated_and_is_one(
    scene: Scene, stack: Stack, failpoint: str
) -> None:
    is_repeated(scene, stack, failpoint)


def test_f3_a_load_whose_worker_was_killed_is_found_again(scene: Scene, stack: Stack) -> None:
    is_repeated(scene, stack, "start-load.carried-out")


def test_f4_a_log_is_read_on_where_the_killed_conductor_was(scene: Scene, stack: Stack) -> None:
    run = scene.run(**LONG)
    stack.worker()
    first = stack.conductor(name="first")
    reading(stack, run)
    first.kill()
    stack.conductor(name="second")
    took(stack, "F4 claimed by the second", lambda: held_by(run, "second"), TAKEN_OVER_S)
    ends_well(scene, stack, run)


def test_f7_a_conductor_that_is_told_to_end_hands_over(scene: Scene, stack: Stack) -> None:
    run = scene.run(**LONG)
    stack.worker()
    first = stack.conductor(name="first")
    reading(stack, run)
    stack.conductor(name="second")
    time.sleep(8.0)  # it is there and sweeps by now
    first.end()
    took(stack, "F7 claimed by the second", lambda: held_by(run, "second"), 5.0)
    ends_well(scene, stack, run)


def test_f8_a_conductor_that_was_away_for_a_minute_writes_nothing(
    scene: Scene, stack: Stack
) -> None:
    run = scene.run(**LONG)
    stack.worker()
    first = stack.conductor(name="first")
    reading(stack, run)
    first.suspend()
    stopped = time.monotonic()
    stack.conductor(name="second")
    took(stack, "F8 claimed by the second", lambda: held_by(run, "second"), TAKEN_OVER_S)
    time.sleep(max(0.0, stopped + 60.0 - time.monotonic()))
    first.signal(signal.SIGCONT)
    ended = ends_well(scene, stack, run)
    moved = Event.objects.filter(run=ended, kind="state").order_by("pk")
    assert list(moved.values_list("actor", flat=True))[-2:] == ["second", "second"]


def test_f14_what_an_emptied_redis_has_lost_is_rung_for_again(scene: Scene, stack: Stack) -> None:
    run = scene.run()
    stack.conductor()
    planned = Operation.objects.filter(attempt__run=run)
    stack.until("planned", planned.exists)
    time.sleep(1.0)  # its bell lies in Redis by now
    redis.Redis.from_url(stack.redis_url).flushall()
    stack.worker()
    took(stack, "F14 the preparation is done", lambda: done(run, "prepare"), 20.0 + WORKER_S)
    ends_well(scene, stack, run)


def test_f85_the_sweeps_pass_on(scene: Scene, stack: Stack) -> None:
    first = stack.conductor(name="first")
    stack.until("a leader", lambda: Leader.objects.filter(holder="first").exists())
    stack.conductor(name="second")
    time.sleep(15.0)
    assert Leader.objects.get().holder == "first"
    first.kill()
    took(stack, "F85 the second leads", lambda: Leader.objects.get().holder == "second", 35.0)
    run = scene.run()
    stack.worker()
    ends_well(scene, stack, run)
