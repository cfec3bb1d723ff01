"""Servers that are no child of ours: what is asked of the node, and what is concluded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hosts.fence import Fence
from hosts.launchers.kept import AttachLauncher, SystemdLauncher
from hosts.launchers.process import ProcessLauncher
from hosts.launchers.servers import DetachedServer, server_launcher
from hosts.launchers.setup import WRAPPER, unit_setup

JOB = ProcessLauncher(run="r1", attempt="2", role="server", fence=Fence("tests", 7))
FILE = "/home/ops/.local/state/throughline/units/llm.service/command.json"
GOOD: dict[str, Any] = {
    "unit": "llm.service",
    "user": "ops",
    "load_state": "loaded",
    "active_state": "inactive",
    "runs_as": "ops",
    "uid": None,
    "reads_our_command": True,
    "command_file": FILE,
    "may": {"restart": True, "stop": True, "reset-failed": True},
    "may_everything": False,
    "sudoers": "ops ALL=(root) NOPASSWD: /usr/bin/systemctl restart -- llm.service",
    "reads_journal": True,
    "rate_limited": False,
}


def systemd(**settings: Any) -> Any:
    return server_launcher("systemd", JOB, port=30000, unit="llm.service", settings=settings)


def found(listeners: Any = (), **changes: Any) -> dict[str, Any]:
    return {"facts": {}, "listeners": list(listeners), "unit": GOOD | changes}


def test_a_unit_is_a_job_whose_program_keeps_it() -> None:
    request = systemd().start_request(op="o", argv=["python3", "-m", "x"], env={"A": "b"}, wall_s=9)
    assert request["argv"][3:] == ["keep", "{job_dir}/watch.json"]
    assert request["fence"] == {"owner": "tests", "token": 7, "keys": ["whole"]}
    assert request["env"] == {"A": "b"}
    spec = json.loads(request["files"]["watch.json"])
    assert spec["command"] == {"argv": ["python3", "-m", "x"], "env": ["A"], "cwd": None}
    assert "b" not in json.dumps(spec["command"]["env"])  # no value stands in a file of the job
    spec = systemd(restart_only=True).start_request(op="o", argv=[], env={}, wall_s=9)
    assert json.loads(spec["files"]["watch.json"])["command"] is None


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"load_state": "not-found"}, "node-unfit", "no unit llm.service"),
        ({"reads_our_command": False}, "node-unfit", "wrapper"),
        ({"runs_as": "root"}, "node-unfit", "runs as root"),
        ({"reads_journal": False}, "node-unfit", "usermod -aG systemd-journal ops"),
        ({"may": {"restart": True, "stop": False}}, "sudo-denied", "NOPASSWD"),
    ],
)
def test_what_stands_in_the_way_is_told_before_the_start(
    changes: dict[str, Any], code: str, words: str
) -> None:
    unfit = systemd().unfit(found(**changes))
    assert unfit is not None
    assert unfit.code == code
    assert words in unfit.text


def test_a_port_may_be_held_by_the_unit_itself_only() -> None:
    mine = {"pid": 5, "unit": "llm.service", "name": "python3"}
    other = {"pid": 6, "unit": "other.service", "name": "python3"}
    assert systemd().unfit(found([mine])) is None
    unfit = systemd().unfit(found([mine, other]))
    assert unfit is not None
    assert unfit.code == "port-taken" and "pid 6" in unfit.text and "pid 5" not in unfit.text
    assert DetachedServer(JOB, 30000).unfit(found([mine])) is not None


def test_a_restart_only_unit_need_not_read_our_command() -> None:
    launcher = systemd(restart_only=True)
    assert launcher.unfit(found(reads_our_command=False, runs_as="llm")) is None
    assert launcher.sets_arguments is False
    assert systemd().sets_arguments is True


def test_strangers_are_those_outside_the_unit() -> None:
    answers = {
        "status": {"watched": {"uid": 1000}},
        "listeners": [
            {"pid": 5, "unit": "llm.service", "uid": 1000},
            {"pid": 6, "unit": None, "uid": 1000},
            {"pid": None, "unit": None, "uid": 1000},
            {"pid": None, "unit": None, "uid": 0},
        ],
    }
    strangers = SystemdLauncher(JOB, "llm.service", 30000).strangers(answers, {})
    assert strangers == [answers["listeners"][1], answers["listeners"][3]]


def test_attaching_needs_a_server_and_keeps_to_it() -> None:
    log = {"kind": "file", "path": "/x.log", "from": "now"}
    launcher = server_launcher("attach", JOB, port=30000, unit="", settings={"log": log})
    assert isinstance(launcher, AttachLauncher)
    assert launcher.unfit({"listeners": []}) is not None
    assert launcher.unfit({"listeners": [{"pid": 5}]}) is None
    request = launcher.start_request(op="o", argv=["x"], env={"SECRET": "s"}, wall_s=9)
    assert request["env"] == {}
    spec = json.loads(request["files"]["watch.json"])
    assert spec == {"launcher": "attach", "op": "o", "port": 30000, "log": log}
    known = {"pid": 5, "start_time": 9, "uid": 1000}
    answers = {"status": {"watched": {"listeners": [known]}}, "listeners": [known]}
    assert launcher.strangers(answers, {}) == []
    answers["listeners"] = [known | {"start_time": 10}]
    assert launcher.strangers(answers, {}) == answers["listeners"]


def test_the_setup_holds_no_pattern_and_escapes_what_systemd_expands() -> None:
    setup = unit_setup(GOOD | {"command_file": '/home/o%s/a "b"/command.json'})
    wrapper, dropin, sudoers = setup.files
    assert wrapper.path == WRAPPER and sudoers.mode == "0440"
    assert dropin.path == "/etc/systemd/system/llm.service.d/throughline.conf"
    assert f'ExecStart={WRAPPER} "/home/o%%s/a \\"b\\"/command.json"' in dropin.text
    assert "*" not in sudoers.text
    assert setup.problems == () and setup.warnings == ()
    compile(wrapper.text, "run-unit", "exec")
    warned = unit_setup(GOOD | {"may_everything": True, "rate_limited": True})
    assert len(warned.warnings) == 2
    assert [file.path for file in unit_setup(GOOD, restart_only=True).files] == [sudoers.path]
