"""A real journal that suppresses and forgets, and what becomes of it in the attempt's log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hosts.nodekit.spool import MARK
from tests.nodes import machine
from tests.nodes.conftest import UNIT, Kit, drop_in, wait_until

JOB = {"run": "r1", "attempt": "1", "role": "server"}
FENCE = {"owner": "tests", "token": 1, "keys": ["whole"]}


class Kept:
    """A shell command that runs in the unit, kept by the kit."""

    def __init__(self, node: machine.Machine) -> None:
        self.node = node
        self.kit = Kit(node, "ops")
        state = node.root / "home/ops/.local/state/throughline"
        self.folder = state / "runs/r1/1/server"

    def start(self, shell: str) -> None:
        command = {"argv": ["/bin/sh", "-c", shell], "env": [], "cwd": None}
        spec = {"launcher": "systemd", "op": "o", "port": 30000, "unit": UNIT, "command": command}
        self.kit.call("start", {
            **JOB, "op": "o", "fence": FENCE, "env": {}, "cwd": None, "log": "server.log",
            "argv": ["{python}", "-I", "{kit}", "keep", "{job_dir}/watch.json"],
            "files": {"watch.json": json.dumps(spec)},
            "limits": {"wall_s": None, "stop_grace_s": 30},
        })  # fmt: skip

    def stop(self) -> dict[str, Any]:
        return self.kit.call("stop", {**JOB, "fence": FENCE, "grace_s": 30})

    @property
    def log(self) -> bytes:
        path: Path = self.folder / "server.log"
        return path.read_bytes() if path.exists() else b""

    def lines(self) -> list[bytes]:
        return [line for line in self.log.splitlines() if not line.startswith(MARK)]

    def marks(self) -> list[dict[str, Any]]:
        found = [line for line in self.log.splitlines() if line.startswith(MARK)]
        return [json.loads(line[len(MARK) :]) for line in found]


@pytest.fixture
def kept(unit: machine.Machine) -> Iterator[Kept]:
    made = Kept(unit)
    yield made
    made.stop()
    unit.ssh("rm -rf /home/ops/.local/state/throughline/runs/r1")


def test_f45_what_journald_suppresses_is_a_gap_with_its_number(kept: Kept) -> None:
    drop_in(kept.node, "[Service]\nLogRateLimitIntervalSec=1s\nLogRateLimitBurst=20\n")
    assert Kit(kept.node, "ops").call("unit", {"unit": UNIT})["rate_limited"] is True
    kept.start("sleep 2; seq 500; sleep 3; echo after; sleep 600")
    wait_until(lambda: b"after" in kept.log)
    gaps = [mark for mark in kept.marks() if mark["kind"] == "gap"]
    assert [gap["why"] for gap in gaps] == ["suppressed"]
    # every line is there or counted; its factor for free space makes the burst what it is
    assert len(kept.lines()) + gaps[0]["count"] == 501


def test_f45_with_the_drop_in_of_the_setup_nothing_is_suppressed(kept: Kept) -> None:
    assert Kit(kept.node, "ops").call("unit", {"unit": UNIT})["rate_limited"] is False
    kept.start("seq 30000; echo after; sleep 600")
    wait_until(lambda: b"after" in kept.log, seconds=60.0)
    assert kept.marks() == []
    assert kept.lines() == [*(str(i).encode() for i in range(1, 30001)), b"after"]


def test_f46_a_vacuumed_journal_is_a_gap_and_no_line_comes_twice(kept: Kept) -> None:
    kept.start(
        "seq 1 100; while [ ! -e /tmp/more ]; do sleep 0.2; done; seq 101 20000;"
        " while [ ! -e /tmp/last ]; do sleep 0.2; done; echo last; sleep 600"
    )
    wait_until(lambda: len(kept.lines()) == 100)
    pid = kept.kit.call("status", JOB)["started"]["pid"]
    kept.node.ssh(f"kill -STOP {pid}")
    kept.node.ssh("touch /tmp/more; sleep 2; journalctl --sync")
    kept.node.ssh("journalctl --rotate; journalctl --vacuum-size=1; journalctl --vacuum-time=1s")
    kept.node.ssh("touch /tmp/last; sleep 1; journalctl --sync")
    kept.node.ssh(f"kill -CONT {pid}; rm /tmp/more /tmp/last")
    wait_until(lambda: b"last" in kept.log)
    assert [mark["why"] for mark in kept.marks()] == ["vacuumed"]
    lines = kept.lines()
    assert len(lines) == len(set(lines))
    assert lines[:100] == [str(i).encode() for i in range(1, 101)]
    assert lines[-1] == b"last"


def test_children_of_the_unit_are_heard_and_neighbours_are_not(kept: Kept) -> None:
    kept.node.ssh("systemd-run -q --unit=neighbour sh -c 'while sleep 0.1; do echo noise; done'")
    try:
        kept.start(
            "echo parent; (echo child; setsid sh -c 'sleep 1; echo grandchild') &"
            # journald asks whose a line is while its writer lives: of five one is known even on a
            # machine that is busy
            " sleep 1; for i in 1 2 3 4 5; do logger of-syslog; sleep 0.2; done;"
            " printf 'no newline'; sleep 600"
        )
        wait_until(lambda: b"grandchild" in kept.log and b"of-syslog" in kept.log)
    finally:
        kept.node.ssh("systemctl stop neighbour")
    ended = kept.stop()["status"]
    assert set(kept.lines()) == {b"parent", b"child", b"of-syslog", b"grandchild", b"no newline"}
    assert ended["exit"]["log_bytes"] == len(kept.log)
    assert ended["exit"]["reason"] == "stopped"


def test_a_start_of_an_older_fence_does_not_touch_the_unit(kept: Kept) -> None:
    kept.kit.call("stop", {**JOB, "run": "other", "fence": {**FENCE, "token": 5}, "grace_s": 1})
    with pytest.raises(AssertionError, match="stale-fence"):
        kept.start("echo never")
    assert kept.node.ssh(f"systemctl is-active {UNIT}", check=False).strip() == "inactive"
    kept.node.ssh("rm -r /home/ops/.local/state/throughline/fence")
