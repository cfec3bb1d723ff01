"""Keeping a server that is not our child: what is concluded from what systemd and others tell."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hosts.nodekit import container, units, unitserver
from hosts.nodekit.attached import Attached
from hosts.nodekit.container import ContainerLog
from hosts.nodekit.errors import BadRequest, KitError
from hosts.nodekit.unitserver import UnitServer
from hosts.nodekit.watched import CRASH_LOOP, DIED, NOT_RUNNING, OUTSIDE, RESTARTED, UNFIT, End
from tests.hosts.nodekit.conftest import Node, wait_for
from tests.hosts.nodekit.test_logfile import Copy

UNIT = "llm.service"
RUNNING = {
    "LoadState": "loaded", "ActiveState": "active", "SubState": "running", "Result": "success",
    "MainPID": "0", "InvocationID": "a" * 32, "NRestarts": "0", "ExecMainCode": "0",
    "ExecMainStatus": "0", "ExecStart": "run-unit /x/command.json",
}  # fmt: skip


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    made = Copy(tmp_path / "spool")
    yield made
    os.close(made.fd)


class Done:
    """A command that has ended well."""

    returncode = 0

    def poll(self) -> int:
        return 0

    def communicate(self, timeout: float = 0) -> tuple[bytes, None]:
        return b"", None


class Systemd:
    """What `systemctl show` would say now, and which commands were given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shown = dict(RUNNING)
        self.given: list[str] = []
        monkeypatch.setattr(units, "show", lambda unit: dict(self.shown))
        monkeypatch.setattr(units, "act", lambda verb, unit, wait_s=0.0: self.given.append(verb))
        monkeypatch.setattr(units, "begin", self._begin)
        monkeypatch.setattr(units, "stop_and_wait", self._stop)
        monkeypatch.setattr(units, "last_words", lambda unit, invocation: "")
        monkeypatch.setattr(unitserver, "command_file", lambda unit: "/x/command.json")

    def _begin(self, verb: str, unit: str) -> Any:
        self.given.append(verb)
        self.shown["InvocationID"] = chr(ord(self.shown["InvocationID"][0]) + 1) * 32
        return Done()

    def _stop(self, unit: str) -> None:
        self.given.append("stop")
        self.shown["ActiveState"] = "inactive"


@pytest.fixture
def systemd(monkeypatch: pytest.MonkeyPatch) -> Systemd:
    return Systemd(monkeypatch)


@pytest.fixture
def begun(systemd: Systemd, copy: Copy, tmp_path: Path) -> UnitServer:
    """A unit that was restarted and runs."""
    spec = {"op": "op-1", "unit": UNIT, "command": None}
    server = UnitServer(spec, copy.spool, None, measuring=str(tmp_path / "load-started"))
    server.begin(lambda: None)
    assert server.look() is None
    assert server.told["invocations"] == ["b" * 32]
    return server


def test_f2_a_second_telling_of_the_same_operation_restarts_nothing(
    begun: UnitServer, systemd: Systemd, copy: Copy
) -> None:
    spec = {"op": "op-1", "unit": UNIT, "command": None}
    again = UnitServer(spec, copy.spool, begun.told, measuring="/nowhere")
    again.begin(lambda: None)
    assert systemd.given.count("restart") == 1
    other = UnitServer(spec | {"op": "op-2"}, copy.spool, begun.told, measuring="/nowhere")
    other.begin(lambda: None)
    assert systemd.given.count("restart") == 2


def test_f2_the_state_before_is_on_disk_before_the_restart(systemd: Systemd, copy: Copy) -> None:
    server = UnitServer({"op": "o", "unit": UNIT}, copy.spool, None, measuring="/nowhere")
    seen: list[tuple[Any, list[str]]] = []
    server.begin(lambda: seen.append((server.told["before"], list(systemd.given))))
    assert seen == [(server.told["before"], [])]
    assert server.told["before"]["InvocationID"] == "a" * 32


@pytest.mark.parametrize(
    ("shown", "reason", "words"),
    [
        ({"ActiveState": "failed", "Result": "oom-kill", "ExecMainCode": "2",
          "ExecMainStatus": "9"}, DIED, "Result=oom-kill, killed by signal 9"),
        ({"ActiveState": "failed", "Result": "exit-code", "ExecMainCode": "1",
          "ExecMainStatus": "3"}, DIED, "exit status 3"),
        ({"ActiveState": "inactive", "ExecMainCode": "1"}, DIED, "by itself or was stopped"),
        ({"ActiveState": "failed", "Result": "start-limit-hit"}, CRASH_LOOP, "start-limit-hit"),
        ({"NRestarts": "3"}, CRASH_LOOP, "3 times"),
        ({"InvocationID": "f" * 32}, OUTSIDE, "outside actor"),
    ],
)  # fmt: skip
def test_the_evidence_of_an_end(
    begun: UnitServer, systemd: Systemd, shown: dict[str, str], reason: str, words: str
) -> None:
    systemd.shown |= shown
    end = begun.look()
    assert end is not None
    assert end.reason == reason
    assert words in end.text


def test_f33_a_restart_by_systemd_counts_once_load_has_begun(
    begun: UnitServer, systemd: Systemd, copy: Copy, tmp_path: Path
) -> None:
    systemd.shown |= {"InvocationID": "c" * 32, "NRestarts": "1"}
    assert begun.look() is None
    assert begun.told["invocations"] == ["b" * 32, "c" * 32]
    (tmp_path / "load-started").touch()
    systemd.shown |= {"InvocationID": "d" * 32, "NRestarts": "2"}
    end = begun.look()
    assert end is not None and end.reason == RESTARTED
    assert [mark["by"] for mark in copy.marks()] == ["systemd", "systemd"]


def test_a_unit_that_waits_too_long_to_be_started_again_is_dead(
    begun: UnitServer, systemd: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    systemd.shown |= {"ActiveState": "activating", "SubState": "auto-restart", "Result": "signal"}
    assert begun.look() is None
    monkeypatch.setattr(unitserver, "AGAIN_S", 0.0)
    end = begun.look()
    assert end is not None and end.reason == DIED
    begun.asked = True  # the load has ended first, for want of a server
    end = begun.look()
    assert end is not None and end.reason == RESTARTED


def test_a_unit_is_left_as_it_was_found(begun: UnitServer, systemd: Systemd) -> None:
    begun.let_go()
    assert "stop" not in systemd.given  # restart-only, and it ran before
    begun.told["before"]["ActiveState"] = "inactive"
    begun.let_go()
    assert systemd.given[-1] == "stop"


def test_another_persons_start_of_our_unit_is_left_alone(
    begun: UnitServer, systemd: Systemd
) -> None:
    begun.told["ours"] = True
    systemd.shown["InvocationID"] = "f" * 32
    begun.let_go()
    assert "stop" not in systemd.given
    systemd.shown["NRestarts"] = "1"  # systemd's own, of what we had started
    begun.let_go()
    assert systemd.given[-1] == "stop"


def test_a_unit_without_its_drop_in_is_not_restarted(systemd: Systemd, copy: Copy) -> None:
    for shown in ({"LoadState": "not-found"}, {"ExecStart": "/usr/bin/other"}):
        systemd.shown = RUNNING | shown
        spec = {"op": "o", "unit": UNIT, "command": {"argv": ["x"], "env": []}}
        server = UnitServer(spec, copy.spool, None, measuring="/nowhere")
        with pytest.raises(KitError) as refused:
            server.begin(lambda: None)
        assert refused.value.code == UNFIT
    assert systemd.given == []


BAD_UNITS = [
    "llm", "-llm.service", "llm.service ", "a b.service", "a;b.service", "$(id).service",
    "../x.service", "llm.socket", "a\nb.service", ".service\n", "é.service", "a" * 250 + ".service",
    "--help", "*.service", "llm.service.", "",
]  # fmt: skip


@pytest.mark.parametrize("name", BAD_UNITS)
def test_s19_bad_names_of_units_reach_no_command(name: str) -> None:
    with pytest.raises(BadRequest):
        units.unit_name({"unit": name})


@pytest.mark.parametrize("name", ["llm.service", "llm@0.service", "a:b_c.d-e.service", "x.service"])
def test_names_of_units_that_are_taken(name: str) -> None:
    assert units.unit_name({"unit": name}) == name


def test_sudo_compares_words_and_nothing_in_them_is_a_pattern() -> None:
    line = units.sudoers("a:b@\\x2d.service")
    assert "-- a\\:b@\\\\x2d.service" in line
    for verb in units.ACTIONS:
        assert f" {verb} -- a" in line


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (b"sudo: a password is required", "sudo-denied"),
        (b"Sorry, user ops is not allowed to execute '/usr/bin/systemctl'", "sudo-denied"),
        (b"ops is not in the sudoers file.", "sudo-denied"),
        (b"Job for llm.service failed because the control process exited", "unit-failed"),
    ],
)
def test_f63_sudos_refusal_is_told_from_systemds(said: bytes, code: str) -> None:
    with pytest.raises(KitError) as refused:
        units.judge("restart", UNIT, 1, said)
    assert refused.value.code == code
    assert ("NOPASSWD" in refused.value.message) == (code == "sudo-denied")


def looked(server: Attached) -> End | None:
    return next(filter(None, (server.look() for _ in range(5))), None)


def test_attached_is_whoever_listens_and_nobody_else(copy: Copy, free_port: int) -> None:
    server = Attached({"op": "o", "port": free_port}, copy.spool)
    first = socket.create_server(("127.0.0.1", free_port))
    with first:
        server.begin(lambda: None)
        assert server.told["listeners"][0]["pid"] == os.getpid()
        assert looked(server) is None
    end = looked(server)
    assert end is not None and end.reason == DIED
    with socket.create_server(("127.0.0.1", free_port)):
        end = looked(server)
        assert end is not None and end.reason == RESTARTED


def test_an_attached_unit_is_one_start_of_it(systemd: Systemd, copy: Copy, free_port: int) -> None:
    with socket.create_server(("127.0.0.1", free_port)):
        spec = {"op": "o", "port": free_port, "unit": UNIT}
        server = Attached(spec, copy.spool)
        server.begin(lambda: None)
        assert looked(server) is None
        systemd.shown["InvocationID"] = "b" * 32
        end = looked(server)
        assert end is not None and end.reason == RESTARTED
        systemd.shown["ActiveState"] = "failed"
        with pytest.raises(KitError) as refused:
            Attached(spec, copy.spool).begin(lambda: None)
        assert refused.value.code == NOT_RUNNING
        end = looked(server)
        assert end is not None and end.reason == DIED
    assert systemd.given == []


DOCKER = """#!/usr/bin/env python3
import json, os, sys
told = json.load(open(os.environ["FAKE_DOCKER"]))
if sys.argv[1] == "inspect":
    assert sys.argv[-2] == "--"
    print(json.dumps([told["inspect"]])) if "inspect" in told else sys.exit("no such container")
if sys.argv[1] == "logs":
    since = sys.argv[sys.argv.index("--since") + 1] if "--since" in sys.argv else ""
    for stamp, text in told["logs"]:
        if stamp >= since:
            print(stamp, text)
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    import json

    program = tmp_path / "bin" / "docker"
    program.parent.mkdir()
    program.write_text(DOCKER)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_DOCKER", str(tmp_path / "docker.json"))

    def say(**told: Any) -> None:
        (tmp_path / "docker.json").write_text(json.dumps(told))

    return say


def state(**changes: Any) -> dict[str, Any]:
    told = {"Running": True, "Pid": 7, "StartedAt": "t1", "ExitCode": 0, "OOMKilled": False}
    return {"Id": "c1", "State": told | changes}


def test_an_attached_container_is_one_start_of_it(
    docker: Callable[..., None], copy: Copy, free_port: int
) -> None:
    log = {"kind": "container", "engine": "docker", "name": "llm"}
    with socket.create_server(("127.0.0.1", free_port)):
        server = Attached({"op": "o", "port": free_port, "log": log}, copy.spool)
        docker(inspect=state())
        server.begin(lambda: None)
        assert looked(server) is None
        docker(inspect=state(StartedAt="t2"))
        assert (end := looked(server)) is not None and end.reason == RESTARTED
        docker(inspect=state(Running=False, ExitCode=137, OOMKilled=True))
        assert (end := looked(server)) is not None and "out of memory" in end.text
        docker()
        assert (end := looked(server)) is not None and "gone" in end.text
    for bad in ({"engine": "sh"}, {"name": "--privileged"}, {"name": "a b"}):
        with pytest.raises(BadRequest):
            Attached({"op": "o", "port": free_port, "log": log | bad}, copy.spool)


def test_a_containers_log_is_taken_up_again_without_a_line_twice(
    docker: Callable[..., None], copy: Copy
) -> None:
    stamps = [f"2026-01-01T00:00:0{i}.000000000Z" for i in range(5)]
    logs = [[stamp, f"line {i}"] for i, stamp in enumerate(stamps)]
    docker(logs=logs[:2])
    source = ContainerLog("docker", "llm", copy.spool, skip=False)
    wait_for(lambda: source.read() or source.copied)
    wait_for(lambda: source.read() is False and source._process is None)
    docker(logs=logs)
    wait_for(lambda: (source.read(), len(copy.lines()) >= 5)[1])
    source.read(last=True)
    assert copy.lines() == [b"line %d" % i for i in range(5)]


def test_a_log_that_is_none_ends_the_job_with_its_reason(node: Node) -> None:
    spec = {"launcher": "attach", "op": "o", "port": 1,
            "log": {"kind": "file", "path": "/dev/zero", "from": "now"}}  # fmt: skip
    import json

    node.start(
        "{python}", "-I", "{kit}", "keep", "{job_dir}/watch.json",
        files={"watch.json": json.dumps(spec)},
    )  # fmt: skip
    assert node.ended()["code"] == 1
    end = node.status()["watched"]["end"]
    assert end["reason"] == "bad-log"
    assert "no regular file" in end["text"]
    assert container.NAME.fullmatch("llm")
