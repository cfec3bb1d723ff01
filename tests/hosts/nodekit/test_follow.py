from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from pathlib import Path
from typing import Any

from .conftest import Node, wait_for

SLOW = "for i in 1 2 3 4 5; do echo line $i; sleep 0.15; done; printf 'no newline \\377'"


def _follow(node: Node, offset: int = 0, **more: Any) -> subprocess.Popen[bytes]:
    process = node.open("follow")
    request = node.job(**{"path": "server.log", "offset": offset, "wait": True, **more})
    assert process.stdin is not None
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    return process


def _rest(process: subprocess.Popen[bytes]) -> bytes:
    """All it still sends, its stdin kept open as a real client does; it must end by itself."""
    assert process.stdout is not None
    with process:
        data = process.stdout.read()
        assert process.wait(20) == 0
    return data


def test_it_streams_while_the_job_writes_and_ends_with_all_bytes(node: Node) -> None:
    node.start("sh", "-c", SLOW)
    process = _follow(node)
    assert process.stdout is not None
    first = process.stdout.read(7)
    assert first == b"line 1\n"
    assert not (node.job_dir / "exit.json").exists()
    everything = first + _rest(process)
    assert everything == (node.job_dir / "server.log").read_bytes()
    assert everything.endswith(b"no newline \xff")
    assert json.loads((node.job_dir / "exit.json").read_text())["log_bytes"] == len(everything)


def test_it_goes_on_from_an_offset(node: Node) -> None:
    node.start("sh", "-c", SLOW)
    assert _rest(_follow(node, offset=7)).startswith(b"line 2\n")


def test_it_says_where_the_bytes_begin_if_it_is_asked(node: Node) -> None:
    node.start("sh", "-c", SLOW)
    assert _rest(_follow(node, offset=7, mark="5ha")).startswith(b"5ha\nline 2\n")


def test_it_ends_when_its_reader_closes_stdin(node: Node) -> None:
    node.start("sh", "-c", "echo up; exec sleep 60")
    process = _follow(node)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.read(3) == b"up\n"
    assert process.poll() is None
    with process:
        process.stdin.close()
        assert process.wait(5) == 0
    assert node.status()["state"] == "running"


def test_it_ends_when_nobody_reads_its_output(node: Node) -> None:
    node.start("sh", "-c", "while sleep 0.05; do echo more; done")
    process = _follow(node)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.read(5) == b"more\n"
    process.stdout.close()
    assert process.wait(5) == 0
    process.stdin.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


def test_it_waits_for_a_file_that_is_not_there_yet(node: Node) -> None:
    node.start("sh", "-c", "sleep 0.4; echo x > {job_dir}/late.txt; sleep 0.3")
    assert _rest(_follow(node, path="late.txt")) == b"x\n"


def test_without_waiting_it_ends_at_the_end_of_the_file(node: Node) -> None:
    node.start("sh", "-c", "echo now; exec sleep 60")
    wait_for(lambda: (node.job_dir / "server.log").read_bytes() == b"now\n")
    assert _rest(_follow(node, wait=False)) == b"now\n"


def test_many_bytes_arrive_whole(node: Node) -> None:
    node.start("head", "-c", "3000000", "/dev/urandom")
    node.ended()
    assert _rest(_follow(node)) == (node.job_dir / "server.log").read_bytes()


def test_an_offset_beyond_the_end_is_said_on_stderr(node: Node) -> None:
    node.start("echo", "short")
    node.ended()
    process = _follow(node, offset=100)
    stdout, stderr = process.communicate(timeout=20)
    assert stdout == b""
    assert json.loads(stderr)["error"]["code"] == "offset-beyond-end"
    assert process.returncode == 1


def test_a_file_outside_the_job_is_refused(node: Node, tmp_path: Path) -> None:
    node.start("ln", "-s", str(tmp_path), "{job_dir}/out")
    node.ended()
    (tmp_path / "secret").write_text("x")
    for path in ("../../../../fence/host-1", "/etc/hostname", "out/secret", "."):
        process = _follow(node, path=path)
        assert select.select([process.stderr], [], [], 20)[0]
        stdout, stderr = process.communicate(timeout=20)
        assert (stdout, process.returncode) == (b"", 2)
        assert json.loads(stderr)["error"]["code"] == "bad-request"


def test_it_ends_when_the_supervisor_was_killed(node: Node) -> None:
    started = node.start("sh", "-c", "echo up; exec sleep 60")["started"]
    process = _follow(node)
    assert process.stdout is not None
    assert process.stdout.read(3) == b"up\n"
    os.kill(started["supervisor_pid"], signal.SIGKILL)
    assert _rest(process) == b""
    assert node.status()["state"] == "lost"
    assert node.stop()["outcome"] == "stopped"
