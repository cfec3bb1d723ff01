"""What the supervisor enforces by itself, with nobody connected."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import Node, alive, wait_for

MIB = 1 << 20


def limits(**more: Any) -> dict[str, Any]:
    return {"limits": {"wall_s": None, "stop_grace_s": 1.0, **more}}


def test_f39_a_program_without_output_is_ended_at_its_stall_limit(node: Node) -> None:
    node.start("sh", "-c", "echo up; sleep 60", **limits(stall_s=1.5))
    ended = node.ended()
    assert (ended["reason"], ended["signal"]) == ("stall-limit", signal.SIGTERM)
    assert (node.job_dir / "server.log").read_text() == "up\n"


def test_output_keeps_the_stall_limit_away(node: Node) -> None:
    talks = "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.4; done"
    node.start("sh", "-c", talks, **limits(stall_s=2.0))
    assert node.ended()["reason"] == "exited"


def test_a_job_nobody_asks_for_ends_at_its_dead_man_limit(node: Node) -> None:
    node.start("sleep", "60", **limits(deadman_s=2.0))
    begun = time.monotonic()
    assert node.ended()["reason"] == "deadman-limit"
    assert time.monotonic() - begun >= 1.5


def test_whoever_asks_for_it_keeps_it_alive(node: Node) -> None:
    node.start("sleep", "60", **limits(deadman_s=2.5))
    for _ in range(8):
        asked = node.job_dir / "asked"
        if asked.exists():  # it is touched at most every five seconds: here they pass faster
            os.utime(asked, (0, 0))
        assert node.status()["state"] == "running"
        time.sleep(0.5)


def test_the_heartbeat_counts_and_tells_disk_and_log(node: Node) -> None:
    node.start("sh", "-c", "echo 0123456789; sleep 60")
    first = wait_for(lambda: node.status()["heartbeat"])
    later = wait_for(lambda: _later(node, first["n"]))
    assert later["monotonic"] > first["monotonic"]
    assert later["log_bytes"] == 11
    assert later["disk_free"] > 0
    assert later["silent_s"] > 0
    assert (node.job_dir / "heartbeat.json").stat().st_mode & 0o777 == 0o600


def _later(node: Node, n: int) -> Any:
    beat = node.status()["heartbeat"]
    return beat if beat["n"] > n else None


NUMBERED = """
import sys, time
for n in range(int(sys.argv[1])):
    sys.stdout.write("%099d\\n" % n)
    if n % 2000 == 1999:
        sys.stdout.flush(); time.sleep(0.25)
"""


def test_f70_a_log_beyond_its_limit_keeps_head_tail_positions_and_hash(node: Node) -> None:
    lines = 40_000
    node.start(sys.executable, "-c", NUMBERED, str(lines), **limits(log_bytes=MIB))
    ended = wait_for(lambda: node.status()["exit"], 40)
    whole = b"".join(b"%099d\n" % n for n in range(lines))
    log = node.job_dir / "server.log"
    assert ended["log_bytes"] == log.stat().st_size == len(whole)
    assert ended["log_sha256"] == hashlib.sha256(whole).hexdigest()
    start, end = json.loads((node.job_dir / "log-gap.json").read_text())["dropped"]
    kept = log.read_bytes()
    assert start >= MIB // 2 and len(whole) - end >= MIB // 2
    assert kept[:start] == whole[:start]
    assert kept[end:] == whole[end:]
    assert f"{end - start} bytes are missing here" in kept[start:end].decode()
    assert log.stat().st_blocks * 512 < 1.4 * MIB
    answer = node.call(
        "digest", node.job(path="server.log", ranges=[[0, 5000], [0, end], [end, len(whole)]])
    )
    assert answer["sha256"] == ended["log_sha256"]
    assert answer["dropped"] == [start, end]
    head, over_the_gap, tail = answer["ranges"]
    assert over_the_gap is None
    assert head == hashlib.sha256(whole[:5000]).hexdigest()
    assert tail == hashlib.sha256(whole[end:]).hexdigest()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Eight megabytes of disk of our own."""
    libc = ctypes.CDLL(None, use_errno=True)
    folder = tmp_path / "disk"
    folder.mkdir()
    if libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"size=8m,mode=700") != 0:
        pytest.skip(f"this user may not mount: {os.strerror(ctypes.get_errno())}")
    yield folder
    libc.umount2(os.fsencode(folder), 2)


FILLS = """
import os, signal, sys, time
with open(sys.argv[1], "wb") as file:
    try:
        while True:
            file.write(b"x" * 4096); file.flush()
    except OSError:
        pass
    print("full"); sys.stdout.flush()
"""


@pytest.mark.parametrize("then", ["time.sleep(60)", "sys.exit(3)"])
def test_f50_a_full_disk_ends_the_job_and_its_exit_record_is_written(
    small_disk: Path, then: str
) -> None:
    node = Node(small_disk)
    try:
        # one of them ignores that its output is lost and runs on, the other dies of it
        code = FILLS.replace('print("full"); sys.stdout.flush()', then)
        started = node.start(sys.executable, "-c", code, str(small_disk / "big"), **limits())
        ended = node.ended()
        assert ended["reason"] == "disk-full"
        assert ended["disk_free"] < 64 * 1024
        assert not alive(started["started"]["pid"])
        assert node.status()["state"] == "exited"
        assert node.stop()["outcome"] == "already-exited"
    finally:
        node.close()


def test_f50_a_job_on_a_full_disk_can_be_stopped(small_disk: Path) -> None:
    node = Node(small_disk)
    try:
        node.start(sys.executable, "-c", "import time; time.sleep(60)", **limits())
        with (small_disk / "big").open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass  # that is what it was for
        assert node.stop()["outcome"] in ("stopped", "already-exited")
        assert node.status()["exit"]["reason"] in ("stopped", "disk-full")
    finally:
        node.close()


def test_f86_the_wall_limit_is_kept_with_nobody_connected_and_tells_the_nodes_time(
    node: Node,
) -> None:
    before = time.time()
    started = node.start("sh", "-c", "trap '' TERM; sleep 60 & wait; sleep 60", **limits(wall_s=1))
    ended = node.ended()
    assert ended["reason"] == "wall-limit"
    assert before + 1 <= ended["at"] <= time.time()
    assert ended["survivors"] == []
    assert not alive(started["started"]["pid"])
