"""The kit dies at each of its failpoints: one program runs at most, and stop leaves nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hosts.nodekit import failpoints

from .conftest import Node, alive, claim, wait_for

KIT = Path(failpoints.__file__).parent
CALL = re.compile(r'failpoint\("([a-z.-]+)"\)')
NAMES = sorted({name for path in KIT.glob("*.py") for name in CALL.findall(path.read_text())})
DOES = ["raise", "sigkill"]


def test_unarmed_they_do_nothing_and_armed_they_fire_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failpoints.failpoint("a.b")
    monkeypatch.setattr(failpoints, "_armed", failpoints.parse("a.b=raise,c.d=sleep:0,e=nonsense"))
    failpoints.failpoint("other")
    with pytest.raises(failpoints.Failpoint):
        failpoints.failpoint("a.b")
    failpoints.failpoint("a.b")
    failpoints.failpoint("c.d")
    with pytest.raises(ValueError, match="cannot 'nonsense'"):
        failpoints.failpoint("e")
    assert capsys.readouterr().err.splitlines()[0] == "failpoint a.b fires: raise"


def test_an_unarmed_one_costs_next_to_nothing() -> None:
    code = "import timeit; from hosts.nodekit.failpoints import failpoint\n"
    code += "print(min(timeit.repeat(lambda: failpoint('x'), number=10000, repeat=5)) / 10000)"
    seconds = float(subprocess.check_output([sys.executable, "-c", code]))
    assert seconds < 2e-6


def test_there_are_some_in_start_in_stop_and_in_the_supervisor() -> None:
    assert {name.partition(".")[0] for name in NAMES} == {"start", "stop", "supervise"}
    assert len(NAMES) >= 11


def armed(node: Node, name: str, does: str, command: str, request: dict[str, Any]) -> str:
    """The command with one failpoint armed; what it and its supervisor said of it."""
    normal = node.env
    node.env = {**normal, failpoints.VARIABLE: f"{name}={does}"}
    try:
        with node.open(command) as process:
            _, stderr = process.communicate(json.dumps(request).encode(), timeout=60)
    finally:
        node.env = normal
    log = node.job_dir / "supervisor.log"
    return stderr.decode() + (log.read_text() if log.exists() else "")


@pytest.mark.parametrize("does", DOES)
@pytest.mark.parametrize("name", NAMES)
def test_whatever_dies_one_program_runs_and_stop_leaves_nothing(
    node: Node, name: str, does: str
) -> None:
    request = node.start_request("sh", "-c", "echo x; sleep 60")
    fired = f"failpoint {name} fires"
    said = armed(node, name, does, "start", request)
    again = node.call("start", request)  # what a conductor does that got no answer
    assert again["outcome"] in ("started", "already-started")
    state = node.status()["state"]
    assert state in ("running", "lost")
    if state == "running":
        wait_for(lambda: (node.job_dir / "server.log").read_text() == "x\n")
    stop = node.job(fence=claim(1), grace_s=1.0)
    said += armed(node, name, does, "stop", stop)
    outcome = node.stop()["outcome"]
    assert outcome in ("stopped", "already-exited")
    said += (node.job_dir / "supervisor.log").read_text()
    assert fired in said
    assert node.status()["state"] in ("exited", "lost")
    assert not alive(again["started"]["pid"])
    marked = f"{node.root}/runs/"
    assert [p for p in os.listdir("/proc") if p.isdigit() and _bears(p, marked)] == []
    assert (node.job_dir / "server.log").read_text() in ("x\n", "")


def _bears(pid: str, mark: str) -> bool:
    if int(pid) == os.getpid() or not alive(int(pid)):
        return False
    try:
        return mark in Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace")
    except OSError:
        return False
