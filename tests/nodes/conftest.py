"""A real node with systemd, a unit set up as an administrator would, and runs that use it."""

from __future__ import annotations

import fcntl
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from hosts import kit
from hosts.fingerprint import fingerprint
from hosts.launchers.setup import unit_setup
from hosts.models import Host, HostKey
from runs.actions.launch import NewArm, launch_campaign
from runs.models import Attempt, Run, ServerConfig, Workload
from tests.faults.conftest import QUICK, ring_a_thread
from tests.nodes import machine
from webapp.durations import Durations

UNIT = "llm.service"
PORT = 30000
LOCK = Path("/run/lock/throughline-nodes")  # one bed on a machine: its bridge has one address


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("nodes")


@pytest.fixture(scope="session")
def bed() -> Iterator[None]:
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        machine.clear_host()
        machine.prepare_host()
        yield
        machine.clear_host()


@pytest.fixture(scope="session")
def real(bed: None) -> Iterator[machine.Machine]:
    """The node most tests use, one after another."""
    node = machine.Machine("a", 11)
    try:
        yield node.create().wait()
    finally:
        node.destroy()


@pytest.fixture(autouse=True)
def quick(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DURATIONS = replace(
        Durations(), sweep=0.1, watch=0.2, ready_check=0.2, reconnect=0.3, flush=0.1,
        connect=3.0, keepalive=1.0,
    )  # fmt: skip
    settings.REDIS_URL = "unix:///nowhere/redis.sock"  # the live feed must not be needed
    monkeypatch.setattr("runs.execution.story.ring", ring_a_thread)


@dataclass(frozen=True)
class Kit:
    """The node kit on a real node, called over SSH as one of its users."""

    node: machine.Machine
    user: str

    def ask(self, command: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        path = f".local/state/throughline/kit/{kit.build().name}"
        self._bring(path)
        done = self._ssh(f"python3 {path} {command}", json.dumps(request).encode())
        return done.returncode, json.loads(done.stdout.splitlines()[-1])

    def call(self, command: str, request: dict[str, Any]) -> dict[str, Any]:
        status, reply = self.ask(command, request)
        assert status == 0, reply
        return reply

    def _bring(self, path: str) -> None:
        there = self.node.root / "home" / self.user / path
        if not there.exists():
            folder = path.rpartition("/")[0]
            self._ssh(f"mkdir -p -m 700 {folder}", b"")
            self._ssh(f"tee {path}", kit.build().data)

    def _ssh(self, command: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
        words = [*self.node.ssh_words(self.user), command]
        return subprocess.run(words, input=data, capture_output=True, timeout=60, check=False)


def as_administrator(node: machine.Machine, commands: str) -> None:
    """What the product prints, pasted into a root shell."""
    subprocess.run(
        [*node.ssh_words("root"), "bash -e"], input=commands.encode(), check=True,
        capture_output=True, timeout=60,
    )  # fmt: skip


@pytest.fixture
def unit(real: machine.Machine) -> Iterator[machine.Machine]:
    """The node with a fresh unit, set up by the product's own commands and nothing else."""
    _clear(real)
    told = Kit(real, "ops").call("unit", {"unit": UNIT})
    as_administrator(real, unit_setup(told).commands)
    yield real
    _clear(real)


def _clear(node: machine.Machine) -> None:
    node.ssh(
        f"systemctl stop {UNIT}; systemctl reset-failed {UNIT}; rm -rf /etc/systemd/system/{UNIT}*"
        " /etc/sudoers.d/throughline-* /home/*/.local/state/throughline/units"
        " /home/*/.local/state/throughline/fence; systemctl daemon-reload",
        check=False,
    )


def drop_in(node: machine.Machine, text: str) -> None:
    """A change of the administrator's own to the unit."""
    node.write(f"/etc/systemd/system/{UNIT}.d/own.conf", text)
    node.ssh("systemctl daemon-reload")


def starts_of(node: machine.Machine) -> int:
    """How often systemd has started the unit, by its own record."""
    said = node.ssh(f"journalctl --no-pager -o cat UNIT={UNIT} JOB_TYPE=start JOB_RESULT=done"
                    f" + UNIT={UNIT} JOB_TYPE=restart JOB_RESULT=done")  # fmt: skip
    return said.count("Started ")


@dataclass(frozen=True)
class Scene:
    """A host row for the node, and runs on it."""

    host: Host
    node: machine.Machine

    def run(self, **changes: Any) -> Run:
        """One queued run; ``server`` are fields of its config, the rest is the workload's."""
        env = QUICK | changes.pop("env", {})
        server = {
            "engine": "sglang", "model": "/m/Demo-8B", "flags": {"--tp": 1}, "port": PORT,
            "env": env, "launcher": "systemd", "unit": UNIT,
        } | changes.pop("server", {})  # fmt: skip
        told = {
            "driver": "probe", "levels": [1, 2], "requests_per_level": 3, "warmup_requests": 0,
            "prompt_set": "chat", "max_tokens": 48, "temperature": 0.0, "ignore_eos": True,
            "seed": 1, "request_timeout_s": 20.0,
        }  # fmt: skip
        campaign = launch_campaign(
            question="What happens?",
            arms=[NewArm("arm", ServerConfig(**server))],
            workload=Workload(**told | changes),
            host=self.host,
            repeats=1,
            by=None,
        )
        return campaign.runs.get()

    def spool(self, attempt: Attempt) -> bytes:
        state = self.node.root / "home" / self.host.user / ".local/state/throughline"
        return (state / f"runs/{attempt.run.uid}/{attempt.n}/server/server.log").read_bytes()


@pytest.fixture
def host_of(transactional_db: None) -> Callable[..., Host]:
    def make(node: machine.Machine, user: str = "ops") -> Host:
        host = Host.objects.create(
            name=f"{node.name}-{user}", address=node.address, port=22, user=user,
            key_path=str(machine.KEY), simulated=True,
        )  # fmt: skip
        key = node.host_key
        HostKey.objects.create(host=host, public=key, fingerprint=fingerprint(key))
        return host

    return make


@pytest.fixture
def scene(host_of: Callable[..., Host], unit: machine.Machine) -> Scene:
    return Scene(host_of(unit), unit)


def wait_until(look: Callable[[], Any], seconds: float = 20.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)
    return found
