"""A simulated server as a real process on a free port, ended by its pid."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[4]
WAIT_S = 15.0


@dataclass
class Server:
    """One launch: its port, its process, its log."""

    port: int
    process: subprocess.Popen[bytes]
    log_path: Path

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        """One request on a connection of its own: status and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        data = body if isinstance(body, bytes) else json.dumps(body) if body is not None else None
        connection.request(method, path, body=data, headers=headers or {})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, text

    def json(self, method: str, path: str, body: Any = None) -> Any:
        status, text = self.ask(method, path, body)
        assert status == 200, text
        return json.loads(text)

    def frames(self, path: str, body: Any) -> list[Any]:
        """The data frames of a streamed answer; the last is the text '[DONE]'."""
        status, text = self.ask("POST", path, {**body, "stream": True})
        assert status == 200, text
        parts = text.decode().split("\n\n")
        assert parts[-1] == ""
        assert all(part.startswith("data: ") for part in parts[:-1])
        payloads = [part[len("data: ") :] for part in parts[:-1]]
        return [payload if payload == "[DONE]" else json.loads(payload) for payload in payloads]

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + WAIT_S
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"waited {WAIT_S:g} s for {what}:\n{self.log[-3000:]}")
            time.sleep(0.02)

    def wait_until_ready(self) -> None:
        self.wait_for(lambda: "fired up and ready to roll" in self.log, "the ready line")

    def wait_until_ended(self) -> int:
        """Exit status, negative for a signal."""
        return self.process.wait(WAIT_S)

    def stop(self) -> None:
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait(WAIT_S)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


Launch = Callable[..., Server]


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """launch("--flag", …, SIM_FAULT="…") starts a server and returns at once."""
    servers: list[Server] = []

    def start(*flags: str, port: int | None = None, ready: bool = True, **env: str) -> Server:
        used = free_port() if port is None else port
        path = tmp_path / f"server-{len(servers)}.log"
        command = [sys.executable, "-m", "hosts.demo.simulator", "--model-path", "demo/model"]
        surroundings = {"SIM_STARTUP_S": "0.2", "SIM_SETTLE_S": "0.1", **env}
        with path.open("wb") as log:
            process = subprocess.Popen(
                [*command, "--port", str(used), *flags],
                cwd=ROOT,
                env={**os.environ, **surroundings},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        server = Server(used, process, path)
        servers.append(server)
        if ready:
            server.wait_until_ready()
        return server

    yield start
    for server in servers:
        server.stop()
