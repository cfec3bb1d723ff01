"""Servers that somebody else runs: measured, and neither started, stopped nor restarted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hosts.models import Host
from runs.models import Event, LogStream, Operation, Reason, Run, State
from tests.faults.conftest import conduct
from tests.nodes import machine
from tests.nodes.conftest import PORT, Scene, wait_until
from tests.nodes.test_units import LONG, measured, stored_equals_node

FOREIGN = "foreign.service"
LOG = "/var/log/foreign.log"


def begin(node: machine.Machine, *, output: str) -> None:
    """A server of another user's, as a team runs it."""
    node.ssh(
        f"systemd-run -q --unit={FOREIGN} --uid=noisy -E SIM_STARTUP_S=0.3 -E SIM_SETTLE_S=0.1"
        f" -E PYTHONUNBUFFERED=1 -p StandardOutput={output} -p StandardError={output}"
        f" python3 -m sglang.launch_server --model-path /m/Demo-8B --port {PORT}"
    )
    wait_until(lambda: f":{PORT}" in node.ssh("ss -tln"))


@pytest.fixture
def scene(host_of: Callable[..., Host], real: machine.Machine) -> Iterator[Scene]:
    real.ssh("rm -rf /home/*/.local/state/throughline/fence")
    yield Scene(host_of(real), real)
    real.ssh(f"systemctl stop {FOREIGN}; systemctl reset-failed {FOREIGN}; rm -f {LOG}*",
             check=False)  # fmt: skip


def attach(scene: Scene, log: dict[str, Any], unit: str = "", **load: Any) -> Run:
    server = {
        "launcher": "attach", "unit": unit, "flags": {},
        "launcher_settings": {"log": log},
    }  # fmt: skip
    return scene.run(server=server, env={}, **load)


def lives_on(scene: Scene, pid: str) -> bool:
    return scene.node.ssh(f"systemctl show -p MainPID --value {FOREIGN}").strip() == pid


def main_pid(scene: Scene) -> str:
    return scene.node.ssh(f"systemctl show -p MainPID --value {FOREIGN}").strip()


def test_a_units_journal_is_read_from_the_start_of_the_run(scene: Scene) -> None:
    begin(scene.node, output="journal")
    pid = main_pid(scene)
    run = conduct(attach(scene, {"kind": "unit", "from": "now"}, FOREIGN))
    assert (run.state, run.reason_text) == (State.SUCCEEDED, "")
    assert lives_on(scene, pid)
    stored_equals_node(scene, run)
    log = LogStream.objects.get(attempt__run=run, role="server").text()
    assert b"The server is fired up" not in log  # F43: said before the run
    told = run.attempts.get().readiness["arguments"]
    assert told["--model-path"] == "/m/Demo-8B"


def test_f41_f42_f43_a_log_file_that_is_rotated_and_cut(scene: Scene) -> None:
    scene.node.write(LOG, "Decode batch of an earlier server\n" * 50)
    begin(scene.node, output=f"append:{LOG}")
    pid = main_pid(scene)

    def rotate() -> None:
        scene.node.ssh(f"cp {LOG} {LOG}.1 && truncate -s 0 {LOG}")  # copytruncate

    run = conduct(attach(scene, {"kind": "file", "path": LOG, "from": "now"}, **LONG),
                  measured(rotate))  # fmt: skip
    assert (run.state, run.reason_text) == (State.SUCCEEDED, "")
    assert lives_on(scene, pid)
    stored_equals_node(scene, run)
    text = LogStream.objects.get(attempt__run=run, role="server").text()
    assert b"earlier server" not in text
    (gap,) = Event.objects.filter(run=run, kind="log-gap")
    assert gap.data["why"] == "truncated"


@pytest.mark.parametrize(
    ("deed", "reason"),
    [(f"systemctl restart {FOREIGN}", Reason.SERVER_RESTARTED),
     (f"systemctl kill -s KILL {FOREIGN}", Reason.SERVER_DIED)],
)  # fmt: skip
def test_another_server_than_at_the_start_is_not_measured(
    scene: Scene, deed: str, reason: str
) -> None:
    begin(scene.node, output="journal")
    run = conduct(
        attach(scene, {"kind": "unit", "from": "now"}, FOREIGN, **LONG),
        measured(lambda: scene.node.ssh(deed)),
    )
    assert (run.state, run.reason) == (State.FAILED, reason), run.reason_text


def test_where_nobody_listens_there_is_nothing_to_attach_to(scene: Scene) -> None:
    run = conduct(attach(scene, {"kind": "file", "path": LOG, "from": "now"}))
    assert (run.state, run.reason) == (State.FAILED, Reason.NODE_UNFIT)
    assert "Nobody listens on port" in run.reason_text
    assert not Operation.objects.filter(kind=Operation.Kind.START_SERVER).exists()


def test_f83_a_log_that_is_a_device_is_refused(scene: Scene) -> None:
    begin(scene.node, output="journal")
    run = conduct(attach(scene, {"kind": "file", "path": "/dev/zero", "from": "now"}))
    assert (run.state, run.reason) == (State.FAILED, Reason.NODE_UNFIT)
    assert "no regular file" in run.reason_text
