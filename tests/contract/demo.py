"""The demo node as a program of its own, with the same handles as ``Sshd``."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hosts.transport.protocol import Target

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class DemoProcess:
    """A running demo node; ``log`` grows while it runs."""

    process: subprocess.Popen[bytes]
    ready: dict[str, Any]
    dir: Path
    log: Path

    @property
    def home(self) -> Path:
        return Path(self.ready["home"])

    @property
    def target(self) -> Target:
        return Target(
            address="127.0.0.1",
            port=self.ready["port"],
            user=self.ready["user"],
            host_keys=(self.ready["host_key"],),
            key_path=self.ready["user_key"],
            agent_path=None,
            loopback=True,
        )

    def login_attempts(self) -> int:
        return self.log.read_text().count("login attempt of")

    def connections(self) -> int:
        return self.log.read_text().count("connection from")

    def kill_sessions(self) -> int:
        """One process serves all connections, so it is that one."""
        self.process.kill()
        self.process.wait()
        return 1

    def stop(self) -> None:
        """SIGTERM, also for what a killed one left running at home."""
        if self.process.poll() is not None:
            start(self.dir).stop()
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start(dir: Path, *options: str) -> DemoProcess:
    """Returns once the node has said that it is ready."""
    dir.mkdir(parents=True, exist_ok=True)
    log, said = dir / "log", dir / "ready.json"
    with log.open("ab") as errors, said.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "hosts.demo.node", "--state", str(dir / "state"), *options],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
        )
    end = time.monotonic() + 20
    while time.monotonic() < end and process.poll() is None:
        line = said.read_text()
        if line.endswith("\n"):
            return DemoProcess(process, json.loads(line), dir, log)
        time.sleep(0.02)
    process.kill()
    process.wait()
    raise RuntimeError(f"the demo node did not start: {log.read_text()[-2000:]}")
