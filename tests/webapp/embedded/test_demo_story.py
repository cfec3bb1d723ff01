"""The demo's story with little programs in place of the product's: quick, and nothing is faked
about processes, ports, locks and signals. tests/webapp/embedded/test_demo.py runs the real ones.
"""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.webapp.embedded.processes import left_over
from webapp.embedded import demo

ROOT = Path(__file__).resolve().parents[3]

# A demo whose node, web, worker and conductor are one-liners. "manage" tells what it is asked.
STAND_IN = """
import asyncio, json, os, sys
from pathlib import Path
from webapp.embedded import commands, demo

demo.LOCK_LIMIT_S = float(os.environ.get("LOCK_LIMIT_S", demo.LOCK_LIMIT_S))
var, web_port, ssh_port = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
shell = lambda script: ["sh", "-c", script]
commands.web = lambda python, host, port: [
    python, "-m", "http.server", "--bind", host, "--directory", str(var / "static"), str(port)
]
commands.worker = lambda python: shell("exec sleep 60")
commands.conductor = lambda python: shell("exec sleep 60")
commands.demo_node = lambda python, state, port, parent_pid: shell(
    "echo starting; echo '" + json.dumps(
        {"ready": True, "port": port, "host_key": "ssh-ed25519 AAAA", "user_key": state + "/key"}
    ) + "'; HOME=" + state + "/home setsid -f sleep 60; exec sleep 60"
)

def manage(name, *arguments, **options):
    print("manage:", name, *arguments, flush=True)
    if name == "signin_link":
        return json.dumps({"person": "operator", "url": arguments[1] + "/sign-in/abc"})
    return ""

options = demo.Options(
    root=Path.cwd(), var=var, web_port=web_port, ssh_port=ssh_port, embed_redis=True
)
say = lambda text: print("demo:", text, flush=True)
try:
    asyncio.run(demo.Demo(options, manage=manage, say=say).run())
except demo.DemoFailed as error:
    sys.exit(str(error))
"""


class Started:
    """A running stand-in and the lines it has printed so far."""

    def __init__(self, var: Path, web_port: int, ssh_port: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", STAND_IN, str(var), str(web_port), str(ssh_port)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []

    def until(self, pattern: str) -> re.Match[str]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if found := re.search(pattern, line):
                return found
        pytest.fail(f"never said {pattern}: {self.lines}")

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        assert self.process.stdout is not None
        self.lines += self.process.stdout.read().splitlines()
        return self.process.wait(15)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[object]:
    started: list[Started] = []

    def _start(web_port: int, ssh_port: int, var: Path = tmp_path / "var") -> Started:
        started.append(Started(var, web_port, ssh_port))
        return started[-1]

    yield _start
    for one in started:
        with contextlib.suppress(ProcessLookupError):
            one.process.kill()
        one.process.wait()
        assert one.process.stdout is not None
        one.process.stdout.close()


def two_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        return one.getsockname()[1], two.getsockname()[1]


def test_it_starts_everything_tells_the_link_and_leaves_nothing(start, tmp_path) -> None:
    web, ssh = two_ports()
    one = start(web, ssh)
    link = one.until(r"sign in +(\S+)").group(1)
    assert link == f"http://127.0.0.1:{web}/sign-in/abc"
    asked = [line.removeprefix("manage: ") for line in one.lines if line.startswith("manage: ")]
    assert asked[0] == "migrate"
    assert asked[1].startswith(f"demo_seed --address 127.0.0.1 --port {ssh} --user demo")
    assert "--host-key ssh-ed25519 AAAA --key" in asked[1]
    assert {path.name for path in (tmp_path / "var" / "log").iterdir()} == {
        "redis.log",
        "demo-node.log",
        "web.log",
        "worker.log",
        "conductor.log",
    }
    assert left_over(tmp_path)
    assert one.end() == 0
    assert one.lines[-1] == "demo: stopped, nothing is left running"
    assert left_over(tmp_path) == []


def test_it_ends_on_the_interrupt_key_while_it_is_still_starting(start, tmp_path) -> None:
    one = start(*two_ports())
    one.until("manage: migrate")
    assert one.end(signal.SIGINT) == 0
    assert left_over(tmp_path) == []


def test_ports_in_use_are_replaced_and_that_is_said(start) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as first,
        socket.create_server(("127.0.0.1", 0)) as second,
    ):
        web, ssh = first.getsockname()[1], second.getsockname()[1]
        one = start(web, ssh)
        link = one.until(r"sign in +\S+:(\d+)/")
        assert int(link.group(1)) != web
        assert any(re.search(f"port {web} is taken, the web uses", line) for line in one.lines)
        assert any(re.search(f"port {ssh} is taken, the demo node", line) for line in one.lines)
        one.end()


def test_nothing_is_left_when_it_is_killed_and_the_next_start_waits_for_that(
    start, tmp_path
) -> None:
    ports = two_ports()
    one = start(*ports)
    one.until("sign in")
    assert one.end(signal.SIGKILL) == -9
    two = start(*ports)
    link = two.until(r"sign in +\S+:(\d+)/")
    assert int(link.group(1)) == ports[0]
    two.end()
    assert left_over(tmp_path) == []


def test_two_demos_do_not_share_one_state_folder(start, monkeypatch) -> None:
    one = start(*two_ports())
    one.until("sign in")
    monkeypatch.setenv("LOCK_LIMIT_S", "1")
    two = start(*two_ports())
    two.until("waiting for an earlier demo to end")
    assert two.process.wait(15) == 1
    assert two.process.stdout is not None
    assert "Another demo is running" in two.process.stdout.read()
    one.end()


def test_it_stops_when_its_parent_ends(tmp_path) -> None:
    web, ssh = two_ports()
    parent = subprocess.Popen(
        [
            *("sh", "-c", '"$0" -c "$1" "$2" "$3" "$4" >"$5" 2>&1; true'),
            *(sys.executable, STAND_IN, str(tmp_path / "var"), str(web), str(ssh)),
            str(tmp_path / "out"),
        ],
        cwd=ROOT,
    )
    wait_for(lambda: "sign in" in (tmp_path / "out").read_text(), 20)
    parent.kill()
    parent.wait()
    wait_for(lambda: left_over(tmp_path) == [], 15)


def wait_for(is_so, limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError):
            if is_so():
                return
        time.sleep(0.05)
    pytest.fail("waited in vain")


def test_the_ready_line_is_the_one_of_this_start(tmp_path) -> None:
    log = tmp_path / "node.log"
    assert demo.ready_line(log, 0) is None
    log.write_text('{"ready": true, "port": 1}\n')
    offset = log.stat().st_size
    assert demo.ready_line(log, offset) is None
    with log.open("a") as out:
        out.write('warming up\n{"ready": false}\n{broken\n{"ready": true, "port": 2')
    assert demo.ready_line(log, offset) is None
    with log.open("a") as out:
        out.write("}\n")
    assert demo.ready_line(log, offset) == {"ready": True, "port": 2}
