"""What the process launcher asks of a node."""

from __future__ import annotations

from hosts.fence import Fence
from hosts.launchers.base import Launcher
from hosts.launchers.process import STOP_GRACE_S, ProcessLauncher
from hosts.launchers.servers import DetachedServer

JOB = {"run": "r1", "attempt": "2", "role": "server"}


def launcher(role: str = "server") -> ProcessLauncher:
    return ProcessLauncher(run="r1", attempt="2", role=role, fence=Fence("tests", 7))


def test_a_start_carries_everything_the_node_has_to_know() -> None:
    request = launcher().start_request(
        op="start-server-2", argv=["python3", "-m", "x"], env={"A": "b"}, wall_s=60.0
    )
    assert request == {
        **JOB,
        "op": "start-server-2",
        "fence": {"owner": "tests", "token": 7, "keys": ["whole"]},
        "argv": ["python3", "-m", "x"],
        "env": {"A": "b"},
        "cwd": None,
        "log": "server.log",
        "files": {},
        "limits": {"wall_s": 60.0, "stop_grace_s": STOP_GRACE_S},
    }


def test_a_stop_is_fenced_and_a_question_is_not() -> None:
    assert launcher().stop_request(grace_s=5.0) == {
        **JOB,
        "fence": {"owner": "tests", "token": 7, "keys": ["whole"]},
        "grace_s": 5.0,
    }
    assert launcher().status_request() == JOB


def test_it_tells_where_the_log_is() -> None:
    assert launcher().log_path == "runs/r1/2/server/server.log"
    assert launcher("load").log_path == "runs/r1/2/load/load.jsonl"
    follow = launcher().follow_request(12)
    assert follow == {**JOB, "path": "server.log", "offset": 12, "wait": True}


def test_it_is_a_launcher() -> None:
    any_launcher: Launcher = DetachedServer(launcher(), 30000)
    assert any_launcher.status_request() == JOB
