"""Runs on three nodes while everything is struck at random; then all is healed and judged.

`make chaos SECONDS=600 SEED=1` prints each fault; a seed that fails is told and may be run again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from hosts.fingerprint import fingerprint
from hosts.models import Host, HostKey, HostLease
from runs.models import Operation, Reason, Run, State
from tests.factories import make_person
from tests.faults.chaos import Chaos, Node
from tests.faults.conftest import Scene
from tests.faults.stack import Stack
from tests.oracle import complaints

SECONDS = float(os.environ.get("SECONDS", "60"))
SEED = int(os.environ.get("SEED", "1"))
CHAOS_SCALE = float(os.environ.get("SCALE", "0.2"))  # claims of six seconds
NODES = 3
GPU_SETS = ([0, 1], [2, 3])
EVERY_S = 10.0
HEALED_S = 300.0  # for what is still on its way when the last fault has been
LOAD = {"levels": [2, 4], "requests_per_level": 16, "max_tokens": 200}


@dataclass
class Place:
    """Two GPUs of a node and a port: one run at a time is on its way there."""

    node: Node
    scene: Scene
    gpus: list[int]
    runs: list[Run]

    def keep_busy(self) -> None:
        if not self.runs or Run.objects.get(pk=self.runs[-1].pk).is_final:
            self.runs.append(self.scene.run(**LOAD, flags={"--tp": 2}, gpus=self.gpus))


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[Node]]:
    made = [Node(tmp_path / f"node{i}") for i in range(NODES)]
    yield made
    for node in made:
        node.close()


def places_of(node: Node, i: int, port: int) -> list[Place]:
    target = node.process.target
    host = Host.objects.create(
        name=f"node{i}", address=target.address, port=node.wire.port, user=target.user,
        key_path=target.key_path or "", simulated=True,
    )  # fmt: skip
    (key,) = target.host_keys
    HostKey.objects.create(host=host, public=key, fingerprint=fingerprint(key))
    return [
        Place(node, Scene(host=host, port=port + n, home=node.home), gpus, [])
        for n, gpus in enumerate(GPU_SETS)
    ]


def why_wrong(run: Run, node: Node) -> str:
    """Empty if the run ended as what happened to its node says."""
    attempt = run.attempts.last()
    begun = attempt.made_at if attempt else run.queued_at
    assert run.ended_at is not None
    ended = run.ended_at.timestamp()
    if run.state == State.SUCCEEDED:
        assert attempt is not None
        measured = (attempt.server["at"], attempt.load_exit["at"])
        if any(measured[0] < at < measured[1] for at in node.reboots):
            return "its node was rebooted in the middle"
        return ""
    if run.reason == Reason.NODE_REBOOTED:
        meanwhile = any(begun.timestamp() < at < ended for at in node.reboots)
        return "" if meanwhile else "nobody rebooted its node"
    prepared = Operation.objects.filter(attempt=attempt, kind=Operation.Kind.PREPARE)
    if run.state == State.FAILED and not prepared.filter(state="done").exists():
        # nothing was started, as the node was away at that very moment: an honest end
        near = any(begun.timestamp() - 60 < at < ended for at in node.away)
        return "" if near else "its node was there"
    return "nothing explains it"


def cookie() -> str:
    client = Client()
    client.force_login(make_person())
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


@pytest.mark.faults
@pytest.mark.slow
def test_chaos(tmp_path: Path, stack: Stack, nodes: list[Node]) -> None:
    first = 21000 + (os.getpid() * 7) % 9000
    places = [p for i, node in enumerate(nodes) for p in places_of(node, i, first + 2 * i)]
    signed_in = cookie()
    stack.scale = CHAOS_SCALE
    chaos = Chaos(tmp_path, stack, nodes, first + 10, SEED)
    for place in places:
        place.keep_busy()

    def shown(run: Run) -> bool:
        return chaos.page(f"/runs/{run.pk}/", signed_in)[0] == 200

    try:
        strike_at = time.monotonic()
        until = strike_at + SECONDS
        while time.monotonic() < until:
            strike_at = max(strike_at + EVERY_S, time.monotonic())
            while time.monotonic() < strike_at:
                for place in places:
                    place.keep_busy()
                time.sleep(0.5)
            stack.until("a page shown between two faults", lambda: shown(places[0].runs[-1]))
            chaos.strike()
        chaos.heal()
        runs = [(run, place) for place in places for run in place.runs]
        for run, _ in runs:
            stack.until_final(run, HEALED_S)
            stack.until(f"shown: {run}", lambda run=run: shown(run), 30.0)
    finally:
        chaos.close()
    ends = [(Run.objects.get(pk=run.pk), place) for run, place in runs]
    story = f"seed {SEED}, {len(chaos.told)} faults: {chaos.told}"
    print(story)
    for run, place in ends:
        print(f"{place.node.folder.name} {place.gpus} {run}: {run.state} {run.reason}", flush=True)
    wrong = [
        (str(run), run.state, run.reason_text, why)
        for run, place in ends
        if (why := why_wrong(run, place.node))
    ]
    assert chaos.fallen == [], story
    assert wrong == [], story + stack.words()
    assert complaints([node.home for node in nodes]) == [], story
    assert not HostLease.objects.exists(), story
