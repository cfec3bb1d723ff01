"""Six runs on three nodes while everything is killed at random; then all is healed and judged.

`make chaos SECONDS=180 SEED=7` prints each fault; a seed that fails is told and may be run again.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from django.db import connection

from hosts.fingerprint import fingerprint
from hosts.models import Host, HostKey
from runs.models import Operation, Reason, Run, State
from tests.contract import demo
from tests.faults.conftest import Scene
from tests.faults.stack import SCALE, Stack, Started
from tests.oracle import complaints
from webapp.embedded import redis as embedded

SECONDS = float(os.environ.get("SECONDS", "60"))
SEED = int(os.environ.get("SEED", "1"))
NODES, RUNS_EACH = 3, 2
EVERY_S = 10.0 * (SCALE * 5)  # one each ten seconds at 1:2
LOAD = {"levels": [4, 8], "requests_per_level": 80, "max_tokens": 48}
CLAIM_S = 30.0 * SCALE


class Node:
    """A demo node on a port of its own; killed, its jobs live on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = demo.start(folder)
        self.port = self.process.ready["port"]

    def kill(self) -> None:
        self.process.process.kill()
        self.process.process.wait()

    def start(self) -> None:
        if self.process.process.poll() is not None:
            self.process = demo.start(self.folder, "--port", str(self.port))


class Chaos:
    def __init__(self, folder: Path, stack: Stack, nodes: list[Node], seed: int) -> None:
        self.dice = random.Random(seed)
        self.stack = stack
        self.nodes = nodes
        self.redis_folder = folder / "redis"
        self.redis = embedded.start(self.redis_folder)
        stack.redis_url = embedded.embedded_url(self.redis_folder)
        self.workers: list[Started] = []
        self.conductors: list[Started] = []
        self.n = 0
        self.told: list[str] = []
        self.heal()

    def faults(self) -> list[Callable[[], None]]:
        found = [
            self.kill_a_worker, self.kill_a_conductor, self.pause_a_conductor, self.end_a_worker,
            self.end_a_conductor, self.kill_redis, self.flush_redis, self.take_a_node_away,
        ]  # fmt: skip
        return [*found, self.lock_the_database] if connection.vendor == "sqlite" else found

    def strike(self) -> None:
        fault = self.dice.choice(self.faults())
        self.told.append(fault.__name__)
        print(f"chaos: {fault.__name__}", flush=True)
        fault()
        self.heal()

    def heal(self) -> None:
        """Everything there should be, is there: two workers, two conductors, Redis, the nodes."""
        if self.redis.poll() is not None:
            self.redis = embedded.start(self.redis_folder)
        for node in self.nodes:
            node.start()
        self.workers = [each for each in self.workers if each.process.poll() is None]
        self.conductors = [each for each in self.conductors if each.process.poll() is None]
        while len(self.workers) < 2:
            self.n += 1
            self.workers.append(self.stack.worker(name=f"w{self.n}"))
        while len(self.conductors) < 2:
            self.n += 1
            self.conductors.append(self.stack.conductor(name=f"c{self.n}"))

    def kill_a_worker(self) -> None:
        self.dice.choice(self.workers).kill()

    def kill_a_conductor(self) -> None:
        self.dice.choice(self.conductors).kill()

    def end_a_worker(self) -> None:
        self.dice.choice(self.workers).end()

    def end_a_conductor(self) -> None:
        self.dice.choice(self.conductors).end()

    def pause_a_conductor(self) -> None:
        victim = self.dice.choice(self.conductors)
        victim.signal(signal.SIGSTOP)
        time.sleep(self.dice.uniform(0.3, 2.0) * CLAIM_S)
        victim.signal(signal.SIGCONT)

    def kill_redis(self) -> None:
        self.redis.kill()
        self.redis.wait()
        time.sleep(self.dice.uniform(0.1, 4.0))

    def flush_redis(self) -> None:
        redis.Redis.from_url(self.stack.redis_url).flushall()

    def take_a_node_away(self) -> None:
        self.dice.choice(self.nodes).kill()
        time.sleep(self.dice.uniform(0.2, 6.0))

    def lock_the_database(self) -> None:
        held = sqlite3.connect(str(connection.settings_dict["NAME"]), timeout=30)
        held.execute("BEGIN IMMEDIATE")
        time.sleep(self.dice.uniform(0.5, 3.0))
        held.rollback()
        held.close()

    def close(self) -> None:
        self.stack.close()
        if self.redis.poll() is None:
            self.redis.terminate()
        try:
            self.redis.wait(5)
        except subprocess.TimeoutExpired:
            self.redis.kill()


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[Node]]:
    made = [Node(tmp_path / f"node{i}") for i in range(NODES)]
    yield made
    for node in made:
        node.start()
        node.process.stop()


def scene_of(node: Node, i: int) -> Scene:
    target = node.process.target
    host = Host.objects.create(
        name=f"node{i}", address=target.address, port=target.port, user=target.user,
        key_path=target.key_path or "", simulated=True,
    )  # fmt: skip
    (key,) = target.host_keys
    HostKey.objects.create(host=host, public=key, fingerprint=fingerprint(key))
    return Scene(host=host, port=21000 + (os.getpid() * 7 + i) % 9000, home=node.process.home)


def began_badly(run: Run) -> bool:
    """Nothing was started, as the node was away at that very moment: an honest end.

    All three nodes are this machine: a run that finds that out beside another one ends as well.
    """
    if run.reason == Reason.SAME_MACHINE:
        return not Operation.objects.filter(attempt__run=run, kind="start-server").exists()
    prepared = Operation.objects.filter(attempt__run=run, kind=Operation.Kind.PREPARE)
    return run.state == State.FAILED and prepared.filter(state="failed").exists()


@pytest.mark.faults
@pytest.mark.slow
def test_chaos(tmp_path: Path, stack: Stack, nodes: list[Node]) -> None:
    scenes = [scene_of(node, i) for i, node in enumerate(nodes)]
    runs = [scene.run(**LOAD) for scene in scenes for _ in range(RUNS_EACH)]
    chaos = Chaos(tmp_path, stack, nodes, SEED)
    try:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            time.sleep(EVERY_S)
            chaos.strike()
        chaos.heal()
        for run in runs:
            stack.until_final(run, 240.0)
    finally:
        chaos.close()
    ends = [Run.objects.get(pk=run.pk) for run in runs]
    story = f"seed {SEED}, {len(chaos.told)} faults: {chaos.told}"
    print(story)
    print([(str(run), run.state, run.told) for run in ends])
    wrong = [run for run in ends if run.state != State.SUCCEEDED and not began_badly(run)]
    assert [(str(run), run.state, run.reason_text) for run in wrong] == [], story
    assert complaints([scene.home for scene in scenes]) == [], story
