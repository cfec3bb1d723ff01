"""The way to a node is cut, jammed, refused or leads elsewhere, and no run ends by it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from hosts.actions.again import try_again
from hosts.actions.keys import confirm_host_key
from hosts.fingerprint import fingerprint
from hosts.models import Host, HostKey, HostLease, HostLink
from runs.execution.conductor import Conductor
from runs.models import Event, Operation, Run, State
from tests.contract import demo
from tests.faults.conftest import Scene, all_is_right, conduct, fresh, nothing_is_left, until_state
from tests.faults.test_endings import stored_equals_node
from tests.faults.wire import Wire, running_wire
from webapp.durations import Durations

SCALE = 0.05  # 1:20
SOME = {"levels": [4], "requests_per_level": 16, "max_tokens": 32}  # some seconds


class Machine:
    """A demo node of this test alone, behind a wire."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = demo.start(folder)
        self.logins_before = 0

    @property
    def logins(self) -> int:
        """How often anybody tried to log in since the machine was started last."""
        return self.process.login_attempts() - self.logins_before

    def restart_with_another_key(self) -> str:
        """Killed, so that its jobs live on; the new public host key."""
        self.process.kill_sessions()
        (self.folder / "state/host_key").unlink()
        self.logins_before = self.process.login_attempts()
        self.process = demo.start(self.folder)
        return self.process.target.host_keys[0]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path / "machine")
    yield made
    made.process.stop()


@pytest.fixture
def wire(machine: Machine) -> Iterator[Wire]:
    with running_wire(machine.process.target.port) as made:
        yield made


@pytest.fixture
def scene(transactional_db: None, machine: Machine, wire: Wire, free_port: int) -> Scene:
    target = machine.process.target
    host = Host.objects.create(
        name="node", address="127.0.0.1", port=wire.port, user=target.user,
        key_path=target.key_path or "", simulated=True,
    )  # fmt: skip
    (key,) = target.host_keys
    HostKey.objects.create(host=host, public=key, fingerprint=fingerprint(key))
    return Scene(host=host, port=free_port, home=machine.process.home)


@pytest.fixture(autouse=True)
def scaled(quick: None, settings: Any) -> Durations:
    """Everything that concerns the link at 1:20, the limits on a login too."""
    times = Durations().scaled(SCALE)
    settings.DURATIONS = replace(
        settings.DURATIONS,
        connect=0.75, login=1.0, keepalive=times.keepalive, reconnect=times.reconnect,
        pace=times.pace, pause_most=times.pause_most, unreachable=times.unreachable,
        command=3.0,
    )  # fmt: skip
    told: Durations = settings.DURATIONS
    return told


async def until(what: str, look: Callable[[], Any], seconds: float = 20.0) -> float:
    """Until ``look`` (asked in a thread) is true; how long that took."""
    begun = time.monotonic()
    while not await sync_to_async(look)():
        assert time.monotonic() - begun < seconds, f"never {what}"
        await asyncio.sleep(0.02)
    return time.monotonic() - begun


def link_of(run: Run) -> str:
    return str(Run.objects.values_list("link", flat=True).get(pk=run.pk))


async def measuring(run: Run) -> None:
    """Load is under way and its log is read."""
    await until_state(run, State.MEASURING)
    started = Operation.objects.filter(attempt__run=run, kind=Operation.Kind.START_LOAD)
    await until("loading", lambda: started.filter(state="done").exists())
    await asyncio.sleep(0.5)


def test_f27_a_half_open_link_is_noticed_within_40_s(scene: Scene, wire: Wire) -> None:
    noticed = 0.0

    async def meanwhile(_: Conductor, run: Run) -> None:
        nonlocal noticed
        await measuring(run)
        wire.vanish()
        noticed = await until("noticed", lambda: link_of(run) != Run.Link.OK)
        assert (await fresh(run)).state == State.MEASURING
        wire.restore()

    run = conduct(scene.run(**SOME), meanwhile, seconds=150)
    print(f"noticed after {noticed:.2f} s, {noticed / SCALE:.0f} s at full scale")
    assert noticed <= 40 * SCALE + 0.3
    assert run.state == State.SUCCEEDED, run.reason_text
    stored_equals_node(scene, run)


@pytest.mark.faults
@pytest.mark.slow
def test_f28_twenty_short_partitions_make_no_storm_of_connections(
    scene: Scene, wire: Wire, scaled: Durations
) -> None:
    seen: set[str] = set()
    made: list[float] = []

    async def meanwhile(_: Conductor, run: Run) -> None:
        await measuring(run)
        before = len(wire.accepted)
        for _n in range(20):
            wire.refuse()
            await asyncio.sleep(10 * SCALE)
            seen.add(await sync_to_async(link_of)(run))
            wire.restore()
            await asyncio.sleep(30 * SCALE)
            assert (await fresh(run)).state == State.MEASURING
        made.extend(wire.accepted[before:])

    run = conduct(scene.run(**SOME | {"requests_per_level": 400}), meanwhile, seconds=240)
    gaps = [later - earlier for earlier, later in pairwise(made)]
    print(f"{len(made)} connections, the closest {min(gaps) / SCALE:.1f} s apart at full scale")
    assert min(gaps) >= scaled.pace * 0.9
    assert seen <= {Run.Link.OK, Run.Link.RECONNECTING}
    assert run.state == State.SUCCEEDED, run.reason_text
    assert {event.kind for event in Event.objects.filter(run=run)} & {"log-gap"} == set()
    stored_equals_node(scene, run)


@pytest.mark.faults
@pytest.mark.slow
def test_f29_ten_minutes_away_end_nothing_and_are_caught_up_with(scene: Scene, wire: Wire) -> None:
    told: dict[str, float] = {}

    async def meanwhile(_: Conductor, run: Run) -> None:
        await measuring(run)
        rival = await sync_to_async(scene.run)(**SOME)
        wire.vanish()
        begun = time.monotonic()
        told["reconnecting"] = await until("noticed", lambda: link_of(run) == "reconnecting")
        await until("unreachable", lambda: link_of(run) == "unreachable")
        told["unreachable"] = time.monotonic() - begun
        while time.monotonic() - begun < 600 * SCALE:
            await asyncio.sleep(0.3)
            assert (await fresh(run)).state == State.MEASURING
            assert (await fresh(rival)).state == State.QUEUED
            lease = await HostLease.objects.aget()
            assert lease.holder == str(run.uid)
        wire.restore()
        told["back"] = await until("back", lambda: link_of(run) == "ok", 60 * SCALE)
        await sync_to_async(Run.objects.filter(pk=rival.pk).delete)()

    run = conduct(scene.run(**SOME | {"requests_per_level": 60}), meanwhile, seconds=240)
    print({name: f"{seconds / SCALE:.0f} s at full scale" for name, seconds in told.items()})
    assert told["unreachable"] <= (40 + 45) * SCALE + 0.5
    assert run.state == State.SUCCEEDED, run.reason_text
    stored_equals_node(scene, run)


def test_f61_a_changed_key_stops_all_logins_and_the_run_goes_on_once_it_is_confirmed(
    scene: Scene, wire: Wire, machine: Machine
) -> None:
    async def meanwhile(_: Conductor, run: Run) -> None:
        await measuring(run)
        old = (await HostKey.objects.aget()).fingerprint
        public = await asyncio.to_thread(machine.restart_with_another_key)
        wire.lead_to(machine.process.target.port)
        await until("key changed", lambda: link_of(run) == Run.Link.KEY_CHANGED)
        connections = len(wire.accepted)
        await asyncio.sleep(1.5)
        assert machine.logins == 0
        assert len(wire.accepted) == connections, "nobody even connects"
        row = await HostLink.objects.aget()
        assert (row.expected, row.offered) == ([old], fingerprint(public))
        waiting = await fresh(run)
        assert waiting.state == State.MEASURING
        assert old in waiting.link_text and fingerprint(public) in waiting.link_text
        await sync_to_async(confirm_host_key)(host=scene.host, public=public, by=None)
        await until("back", lambda: link_of(run) == Run.Link.OK)

    run = conduct(scene.run(**SOME), meanwhile, seconds=150)
    assert run.state == State.SUCCEEDED, run.reason_text
    nothing_is_left(run, scene.port)
    stored_equals_node(scene, run)
    all_is_right(scene)


def test_f62_a_refused_login_is_tried_three_times_and_goes_on_when_a_person_says_so(
    scene: Scene, wire: Wire, machine: Machine
) -> None:
    keys = machine.folder / "state/user_key.pub"

    async def meanwhile(_: Conductor, run: Run) -> None:
        await measuring(run)
        text = keys.read_text()
        keys.write_text("")
        before = machine.logins
        wire.cut()
        await until("refused", lambda: link_of(run) == Run.Link.LOGIN_REFUSED)
        await until("asks", lambda: HostLink.objects.get().asks_a_person)
        await asyncio.sleep(2.0)
        assert machine.logins - before == 3
        assert (await fresh(run)).state == State.MEASURING
        keys.write_text(text)
        await asyncio.sleep(0.5)
        assert machine.logins - before == 3, "nobody tries before a person says so"
        assert await sync_to_async(try_again)(host=scene.host, by=None)
        await until("back", lambda: link_of(run) == Run.Link.OK)

    run = conduct(scene.run(**SOME), meanwhile, seconds=150)
    assert run.state == State.SUCCEEDED, run.reason_text
    nothing_is_left(run, scene.port)
    stored_equals_node(scene, run)


def test_f62_a_changed_login_reaches_a_run_that_is_under_way(
    scene: Scene, wire: Wire, machine: Machine, tmp_path: Path
) -> None:
    keys = machine.folder / "state/user_key.pub"

    async def meanwhile(_: Conductor, run: Run) -> None:
        await measuring(run)
        text = keys.read_text()
        keys.write_text("")
        wire.cut()
        await until("asks", lambda: HostLink.objects.filter(refusals=3).exists())
        keys.write_text(text)
        other = tmp_path / "key"
        other.write_bytes((machine.folder / "state/user_key").read_bytes())
        other.chmod(0o600)
        await Host.objects.aupdate(key_path=str(other))
        await until("back", lambda: link_of(run) == Run.Link.OK)

    run = conduct(scene.run(**SOME), meanwhile, seconds=150)
    assert run.state == State.SUCCEEDED, run.reason_text
