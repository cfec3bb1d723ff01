"""A node for tests: a home of its own with the built kit in it, called as it is in earnest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hosts import kit
from hosts.nodekit import proc

WAIT_S = 20.0
# The same tests with another Python on the node: KIT_PYTHON=python3.8 pytest tests/hosts/nodekit
PYTHON = os.environ.get("KIT_PYTHON", sys.executable)


def claim(token: int, *keys: str, owner: str = "tests", **more: Any) -> dict[str, Any]:
    """What an order says of its giver's claim; without keys on the whole host."""
    return {"owner": owner, "token": token, "keys": list(keys) or ["whole"], **more}


class Node:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.root = home / ".local/state/throughline"
        folder = self.root / "kit"
        folder.mkdir(parents=True)
        self.kit = folder / kit.build().name
        self.kit.write_bytes(kit.build().data)
        self.env = {**os.environ, "HOME": str(home)}
        self.env.pop("XDG_STATE_HOME", None)

    def open(self, command: str, **options: Any) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [PYTHON, str(self.kit), command],
            stdin=pipe, stdout=pipe, stderr=pipe, env=self.env, cwd=self.home, **options,
        )  # fmt: skip

    def ask(self, command: str, request: Any = None, raw: bytes | None = None) -> tuple[int, Any]:
        """The exit status and the reply; nothing may ever be said on stderr."""
        data = json.dumps(request or {}).encode() if raw is None else raw
        with self.open(command) as process:
            stdout, stderr = process.communicate(data, timeout=60)
        assert stderr == b""
        return process.returncode, json.loads(stdout.splitlines()[-1])

    def call(self, command: str, request: Any = None) -> Any:
        status, reply = self.ask(command, request)
        assert status == 0, reply
        return reply

    def job(self, **more: Any) -> dict[str, Any]:
        return {"run": "7", "attempt": "1", "role": "server", **more}

    def start_request(self, *argv: str, token: int = 1, **more: Any) -> dict[str, Any]:
        request = self.job(
            op="op-1",
            fence=claim(token),
            argv=list(argv),
            env={},
            cwd=None,
            log="server.log",
            files={},
            limits={"wall_s": None, "stop_grace_s": 3.0},
        )
        return {**request, **more}

    def start(self, *argv: str, **more: Any) -> Any:
        return self.call("start", self.start_request(*argv, **more))

    def status(self) -> Any:
        return self.call("status", self.job())

    def stop(self, grace_s: float = 3.0, token: int = 1) -> Any:
        fence = claim(token)
        return self.call("stop", self.job(fence=fence, grace_s=grace_s))

    def ended(self) -> Any:
        """The exit record, waited for."""
        exit_path = self.job_dir / "exit.json"
        wait_for(exit_path.exists)
        return json.loads(exit_path.read_text())

    @property
    def job_dir(self) -> Path:
        return self.root / "runs/7/1/server"

    def close(self) -> None:
        """Ends what a failed test left behind, process by process."""
        marked = [p for p in proc.living() if f"{self.root}/runs/" in _environment(p.pid)]
        supervisors = [p for p in proc.living() if f"{self.kit}" in _arguments(p.pid)]
        proc.end_all(lambda: [q for q in marked + supervisors if _is_alive(q)], 0.0)


def _environment(pid: int) -> str:
    return _text(f"/proc/{pid}/environ") if pid != os.getpid() else ""


def _arguments(pid: int) -> str:
    return _text(f"/proc/{pid}/cmdline") if pid != os.getpid() else ""


def _text(path: str) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _is_alive(process: proc.Process) -> bool:
    now = proc.look(process.pid)
    return now is not None and now.state not in "ZX" and now.start_time == process.start_time


def wait_for(condition: Callable[[], Any], wait_s: float = WAIT_S) -> Any:
    """The first true value of `condition`, looked at every 20 ms."""
    deadline = time.monotonic() + wait_s
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return value


def alive(pid: int) -> bool:
    process = proc.look(pid)
    return process is not None and process.state not in "ZX"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(tmp_path)
    yield made
    made.close()
