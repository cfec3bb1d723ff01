"""Servers that live as a systemd unit, on a real node."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from hosts.launchers.setup import unit_setup
from hosts.models import HostLease
from runs.execution import verbs
from runs.execution.conductor import Conductor
from runs.models import Event, LogStream, Operation, Reason, Run, Sample, State
from tests.faults.conftest import conduct, until_state
from tests.nodes.conftest import UNIT, Kit, Scene, as_administrator, drop_in, starts_of, wait_until

# long enough to be interrupted, short enough to wait for
LONG = {"levels": [4], "requests_per_level": 48, "max_tokens": 48}


def active(scene: Scene) -> str:
    return scene.node.ssh(f"systemctl is-active {UNIT}", check=False).strip()


def nothing_is_left(scene: Scene) -> None:
    assert active(scene) in ("inactive", "failed")
    assert not HostLease.objects.filter(host=scene.host).exists()
    folder = scene.node.root / "home/ops/.local/state/throughline/units" / UNIT
    assert not list(folder.glob("*"))


def stored_equals_node(scene: Scene, run: Run) -> None:
    stream = LogStream.objects.get(attempt__run=run, role="server")
    on_node = scene.spool(run.attempts.get())
    assert stream.complete
    assert stream.text() == on_node
    assert stream.sha256 == hashlib.sha256(on_node).hexdigest()
    printed = re.findall(rb"Decode batch.*throughput \(token/s\): ([0-9.]+)", on_node)
    stored = Sample.objects.filter(stream=stream, phase="decode")
    assert [s.output_tps for s in stored] == [float(value) for value in printed]
    assert printed


def measured(fault: Callable[[], Any]) -> Callable[[Conductor, Run], Any]:
    """Something that happens on the node while samples arrive."""

    async def meanwhile(conductor: Conductor, run: Run) -> None:
        await until_state(run, State.MEASURING)
        while not await Sample.objects.filter(stream__role="server").aexists():
            await asyncio.sleep(0.05)
        await sync_to_async(fault)()

    return meanwhile


def seen(scene: Scene, run: Run) -> bool:
    """Whether the unit's start has been noticed on the node."""
    state = scene.node.root / "home/ops/.local/state/throughline"
    path = state / f"runs/{run.uid}/1/server/watched.json"
    return path.exists() and bool(json.loads(path.read_bytes())["invocations"])


def ended_after(run: Run, began: float) -> float:
    assert run.ended_at is not None
    return run.ended_at.timestamp() - began


def events(run: Run, kind: str) -> list[Event]:
    return list(Event.objects.filter(run=run, kind=kind))


def test_a_unit_is_measured_and_put_away(scene: Scene) -> None:
    before = starts_of(scene.node)
    run = conduct(scene.run(env={"HF_TOKEN": "hf_onlyOnTheNode0123456789"}))
    assert (run.state, run.reason_text) == (State.SUCCEEDED, "")
    nothing_is_left(scene)
    stored_equals_node(scene, run)
    attempt = run.attempts.get()
    invocation = attempt.readiness["invocation"]
    assert invocation
    journal = scene.node.ssh(f"journalctl --no-pager -o cat _SYSTEMD_INVOCATION_ID={invocation}")
    assert scene.spool(attempt).decode() == journal
    assert starts_of(scene.node) == before + 1
    # S17: a secret of the environment stands in no file that stays, and in no command line
    root = scene.node.root / "home/ops/.local/state/throughline"
    held = [path for path in root.rglob("*") if path.is_file() and b"hf_only" in path.read_bytes()]
    assert held == []


class Died(BaseException):
    """The worker is killed at this very place."""


@pytest.mark.parametrize("when", ["before", "after"])
def test_f2_a_worker_killed_around_the_restart_restarts_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, settings: Any, when: str
) -> None:
    from dataclasses import replace

    settings.DURATIONS = replace(settings.DURATIONS, claim=2.0, heartbeat=0.5)
    before = starts_of(scene.node)
    killed: list[int] = []
    start = verbs.VERBS[Operation.Kind.START_SERVER]

    async def deadly(node: Any, request: dict[str, Any]) -> dict[str, Any]:
        if killed:
            return await start(node, request)
        if when == "after":
            await start(node, request)
        killed.append(1)
        raise Died

    def ring(operation_id: int) -> bool:
        def work() -> None:
            try:
                verbs.perform(operation_id)
            except Died:
                pass  # nothing is settled: the row says "sent" until it is taken back
            finally:
                connections.close_all()

        threading.Thread(target=work, daemon=True).start()
        return True

    monkeypatch.setitem(verbs.VERBS, Operation.Kind.START_SERVER, deadly)
    monkeypatch.setattr("runs.execution.story.ring", ring)
    run = conduct(scene.run())
    assert (run.state, run.reason_text) == (State.SUCCEEDED, "")
    assert killed
    assert Operation.objects.get(kind=Operation.Kind.START_SERVER).tries == 2
    assert starts_of(scene.node) == before + 1
    stored_equals_node(scene, run)


@pytest.mark.parametrize("way", ["reboot", "crash"])
def test_f31_a_node_that_is_started_anew_ends_the_run(scene: Scene, way: str) -> None:
    back: list[float] = []

    def again() -> None:
        getattr(scene.node, way)()
        scene.node.wait()
        back.append(time.time())

    run = conduct(scene.run(**LONG), measured(again))
    assert (run.state, run.reason) == (State.FAILED, Reason.NODE_REBOOTED), run.reason_text
    assert ended_after(run, back[0]) <= 60.0
    assert Sample.objects.filter(stream__attempt__run=run).exists()
    nothing_is_left(scene)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (f"systemctl kill -s KILL {UNIT}", "Result=signal, killed by signal 9"),
        (f"systemctl kill -s ABRT {UNIT}", "signal 6"),
    ],
)
def test_f32_a_server_that_is_killed_ends_the_run_with_systemds_evidence(
    scene: Scene, how: str, words: str
) -> None:
    began: list[float] = []

    def kill() -> None:
        began.append(time.time())
        scene.node.ssh(how)

    run = conduct(scene.run(**LONG), measured(kill))
    assert (run.state, run.reason) == (State.FAILED, Reason.SERVER_DIED)
    assert words in run.reason_text
    assert "Last lines of the server log" in run.reason_text
    assert ended_after(run, began[0]) <= 15.0
    nothing_is_left(scene)


@pytest.mark.parametrize("pause", ["0", "5"])
def test_f33_a_server_that_systemd_restarts_ends_the_run(scene: Scene, pause: str) -> None:
    """With a boundary where the new start's lines begin, or before it if the load ends first."""
    drop_in(scene.node, f"[Service]\nRestart=always\nRestartSec={pause}\n")
    kill = measured(lambda: scene.node.ssh(f"systemctl kill -s KILL {UNIT}"))
    run = conduct(scene.run(**LONG), kill)
    assert (run.state, run.reason) == (State.FAILED, Reason.SERVER_RESTARTED), run.reason_text
    assert "signal 9" in run.reason_text or "status=9/KILL" in run.reason_text
    boundaries = events(run, "server-restarted")
    assert all(boundary.line and boundary.stream_id for boundary in boundaries)
    assert len(boundaries) == ("(restart 1)" in run.reason_text)
    assert boundaries or "about to start it anew" in run.reason_text
    nothing_is_left(scene)


def test_f33_a_restart_before_the_server_is_ready_is_no_end(scene: Scene) -> None:
    drop_in(scene.node, "[Service]\nRestart=always\nRestartSec=1\n")

    async def kill_early(conductor: Conductor, run: Run) -> None:
        await until_state(run, State.WAITING_READY)
        await sync_to_async(wait_until)(lambda: seen(scene, run))
        await sync_to_async(scene.node.ssh)(f"systemctl kill -s KILL {UNIT}")

    run = conduct(scene.run(env={"SIM_STARTUP_S": "4"}), kill_early)
    assert (run.state, run.reason_text) == (State.SUCCEEDED, "")
    assert len(events(run, "server-restarted")) == 1
    stored_equals_node(scene, run)


@pytest.mark.parametrize("pause", ["0", "1"])
def test_f35_a_crash_loop_ends_early(scene: Scene, pause: str) -> None:
    drop_in(scene.node, f"[Service]\nRestart=always\nRestartSec={pause}\n")
    began = time.time()
    run = conduct(scene.run(env={"SIM_FAULT": "crash-at-start"}))
    assert (run.state, run.reason) == (State.FAILED, Reason.CRASH_LOOP), run.reason_text
    assert ended_after(run, began) <= 30.0
    assert "Traceback" in run.reason_text
    nothing_is_left(scene)


def test_f36_an_old_process_on_the_port_is_found_before_the_start(scene: Scene) -> None:
    scene.node.ssh("systemd-run -q --unit=old-server python3 -m http.server 30000")
    try:
        wait_until(lambda: "30000" in scene.node.ssh("ss -tln"))
        run = conduct(scene.run())
        assert (run.state, run.reason) == (State.FAILED, Reason.PORT_TAKEN), run.reason_text
    finally:
        scene.node.ssh("systemctl stop old-server")


def test_f36_a_process_that_takes_the_port_later_is_not_measured(scene: Scene) -> None:
    async def take(conductor: Conductor, run: Run) -> None:
        await until_state(run, State.WAITING_READY)
        listen = "systemd-run -q --unit=old-server --uid=ops python3 -m http.server 30000"
        await sync_to_async(scene.node.ssh)(listen)

    try:
        run = conduct(scene.run(env={"SIM_STARTUP_S": "15"}), take)
        assert (run.state, run.reason) == (State.FAILED, Reason.WRONG_SERVER), run.reason_text
        assert "python3" in run.reason_text
        nothing_is_left(scene)
    finally:
        scene.node.ssh("systemctl stop old-server")


def test_f55_a_restart_by_hand_is_an_outside_actors(scene: Scene) -> None:
    run = conduct(scene.run(**LONG), measured(lambda: scene.node.ssh(f"systemctl restart {UNIT}")))
    assert (run.state, run.reason) == (State.FAILED, Reason.SERVER_RESTARTED), run.reason_text
    assert "outside actor" in run.reason_text
    assert active(scene) == "active"  # it is somebody else's now
    assert not HostLease.objects.filter(host=scene.host).exists()


def test_f63_without_the_rule_the_line_that_is_needed_is_told(scene: Scene) -> None:
    scene.node.ssh("rm /etc/sudoers.d/throughline-*")
    run = conduct(scene.run())
    assert (run.state, run.reason) == (State.FAILED, Reason.SUDO_DENIED)
    needed = next(word for word in run.reason_text.split("\n") if "NOPASSWD" in word)
    assert not Operation.objects.filter(kind=Operation.Kind.START_SERVER).exists()
    line = needed.partition("/etc/sudoers.d: ")[2]
    as_administrator(scene.node, f"umask 227; echo '{line}' >/etc/sudoers.d/throughline-told")
    told = Kit(scene.node, "ops").call("unit", {"unit": UNIT})
    assert all(told["may"].values())


def test_f63_a_rule_that_wants_a_password_is_told_by_sudos_own_words(scene: Scene) -> None:
    rule = "ops ALL=(root) PASSWD: /usr/bin/systemctl"
    scene.node.ssh(
        "rm /etc/sudoers.d/throughline-*; umask 227;"
        f" echo '{rule}, NOPASSWD: /usr/bin/true' >/etc/sudoers.d/throughline-x"
    )
    run = conduct(scene.run())
    assert (run.state, run.reason) == (State.FAILED, Reason.SUDO_DENIED), run.reason_text
    assert "NOPASSWD: /usr/bin/systemctl restart -- llm.service" in run.reason_text


def test_s20_the_rule_allows_three_commands_on_one_unit_and_nothing_else(scene: Scene) -> None:
    def may(command: str) -> bool:
        said = scene.node.ssh(f"sudo -n {command} >/dev/null 2>&1; echo $?", user="ops")
        return said.strip() != "1"

    assert may(f"systemctl stop -- {UNIT}")
    for wrong in (
        "systemctl stop -- ssh.service", f"systemctl stop {UNIT}", "systemctl restart",
        f"systemctl edit -- {UNIT}", f"systemctl stop -- {UNIT} ssh.service", "true",
        f"systemctl --no-pager restart -- {UNIT}", f"systemctl status -- {UNIT}",
    ):  # fmt: skip
        assert not may(wrong), wrong
    told = Kit(scene.node, "ops").call("unit", {"unit": UNIT})
    assert told["may_everything"] is False
    scene.node.ssh("umask 227; echo 'ops ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/throughline-all")
    told = Kit(scene.node, "ops").call("unit", {"unit": UNIT})
    assert told["may_everything"] is True
    assert any("everything" in warning for warning in unit_setup(told).warnings)


def test_the_wrapper_refuses_what_is_not_the_logins_own(scene: Scene) -> None:
    wrapper = "/usr/local/lib/throughline/run-unit"
    file = "/home/ops/command.json"
    scene.node.write(file, '{"argv": ["id"], "env": {}, "cwd": null}', 0o600)
    for how, words in (
        ("chown root", "own"), ("chown ops", "0600"), ("true", "runs as root"),
    ):  # fmt: skip
        scene.node.ssh(f"{how} {file}; chmod {'644' if words == '0600' else '600'} {file}")
        user = "root" if words == "runs as root" else "ops"
        said = scene.node.ssh(f"{wrapper} {file} 2>&1", user=user, check=False)
        assert "uid=" not in said, how
        assert "run-unit" in said or "Permission denied" in said
    scene.node.ssh(f"chown ops {file}; chmod 600 {file}")
    assert "uid=1000" in scene.node.ssh(f"{wrapper} {file}", user="ops")


def test_a_restart_only_unit_keeps_its_arguments_and_is_left_as_it_was(scene: Scene) -> None:
    own = (
        "[Service]\nExecStart=\nUser=noisy\nEnvironment=SIM_STARTUP_S=0.3 SIM_SETTLE_S=0.1\n"
        "ExecStart=/usr/bin/python3 -m sglang.launch_server --model-path /m/Demo-8B --port 30000"
        " --speculative-algorithm EAGLE --speculative-num-steps 2 --speculative-eagle-topk 1"
        " --speculative-num-draft-tokens 3\n"
    )
    drop_in(scene.node, own)
    scene.node.ssh(f"systemctl start {UNIT}")
    server = {"flags": {}, "launcher_settings": {"restart_only": True}}
    run = conduct(scene.run(server=server, env={}))
    assert (run.state, run.reason_text) == (State.SUCCEEDED, "")
    told = run.attempts.get().readiness["arguments"]
    assert told["--speculative-num-steps"] == 2
    assert active(scene) == "active"
    stored_equals_node(scene, run)
