"""What the kit answers to what it cannot do, and the plain commands."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hosts.nodekit import machine, proc, rundir

from .conftest import PYTHON, Node


@pytest.mark.parametrize(
    "raw",
    [b"{", b"[]", b"null", b"\xff\xfe", b'"text"', b'{"run": 1}', b"{} {}", b"\0" * 100],
)
def test_what_is_no_request_gets_an_error_object(node: Node, raw: bytes) -> None:
    status, reply = node.ask("status", raw=raw)
    assert (status, reply["error"]["code"]) == (2, "bad-request")


@pytest.mark.parametrize("command", ["", "nothing", "load.json", "--help"])
def test_an_unknown_command_gets_an_error_object(node: Node, command: str) -> None:
    status, reply = node.ask(command)
    assert (status, reply["error"]["code"]) == (2, "no-such-command")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("run", "../x"), ("run", ""), ("run", ".hidden"), ("run", "a/b"), ("run", "x" * 65),
        ("run", None), ("attempt", 1), ("role", "a\nb"), ("op", None), ("argv", []),
        ("argv", "ls"), ("argv", ["a", 1]), ("argv", ["a\0b"]), ("env", {"A": 1}),
        ("env", {"A=B": "x"}), ("cwd", 3), ("log", "../log"),
        ("files", {"../a": "x"}), ("files", {"started.json": "{}"}), ("files", {"a": 1}),
        ("files", {"server.log": "x"}), ("limits", None),
        ("limits", {"wall_s": -1, "stop_grace_s": 1}),
        ("limits", {"wall_s": None}), ("limits", {"wall_s": True, "stop_grace_s": 1}),
        ("fence", {"owner": "x", "keys": ["whole"]}),
        ("fence", {"owner": "x", "keys": ["a/b"], "token": 1}),
        ("fence", {"owner": "x", "keys": [], "token": 1}),
        ("fence", {"owner": 3, "keys": ["whole"], "token": 1}),
        ("fence", {"owner": "x", "keys": ["whole"], "token": "1"}),
        ("fence", {"owner": "x", "keys": ["whole"], "token": True}),
    ],
)  # fmt: skip
def test_a_wrong_key_is_refused_by_name_and_starts_nothing(
    node: Node, key: str, value: Any
) -> None:
    status, reply = node.ask("start", node.start_request("true", **{key: value}))
    assert (status, reply["error"]["code"]) == (2, "bad-request")
    inner = list(value) if isinstance(value, dict) else []
    named = [key, *inner, "stop_grace_s", "token"]
    assert any(f"'{name}'" in reply["error"]["message"] for name in named)
    assert not list(node.root.glob("runs/*/*/*/started.json"))


def test_a_log_cannot_take_the_name_of_our_own_records(node: Node) -> None:
    status, reply = node.ask("start", node.start_request("true", log="exit.json"))
    assert (status, "exit.json" in reply["error"]["message"]) == (2, True)


def test_unknown_keys_are_ignored(node: Node) -> None:
    assert node.call("status", node.job(colour="blue"))["state"] == "absent"


def test_a_request_line_is_enough_while_stdin_stays_open(node: Node) -> None:
    with node.open("status") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(node.job()).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["state"] == "absent"


def test_a_request_may_span_lines(node: Node) -> None:
    raw = json.dumps(node.job(), indent=1).encode() + b"\n\n"
    assert node.ask("status", raw=raw)[1]["state"] == "absent"


def test_facts_tell_the_machine(node: Node) -> None:
    simulated = [{"name": "sglang", "version": "0.5.17", "simulated": True}]
    (node.root / "engines.json").write_text(json.dumps(simulated))
    facts = node.call("facts")
    assert facts["hostname"] == socket.gethostname()
    assert facts["cpu_count"] == os.cpu_count()
    assert facts["memory_bytes"] > 1e8
    assert facts["disk_free_bytes"] > 0
    assert facts["boot_id"] == machine.boot_id()
    said = subprocess.run([PYTHON, "--version"], capture_output=True, check=True).stdout
    assert said.split()[-1].decode() == facts["python"]
    assert abs(facts["time"] - time.time()) < 60
    assert isinstance(facts["utc_offset_s"], int)
    assert isinstance(facts["gpus"], list)
    assert simulated[0] in facts["engines"]


def test_facts_find_an_installed_engine(node: Node, tmp_path: Path) -> None:
    info = tmp_path / "lib/sglang-0.5.20.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.20\n")
    node.env["PYTHONPATH"] = str(tmp_path / "lib")
    [found] = [one for one in node.call("facts")["engines"] if one["version"] == "0.5.20"]
    assert found["name"] == "sglang"
    assert os.path.samefile(found["python"], shutil.which(PYTHON) or "")


def test_gpus_come_from_nvidia_smi(node: Node, tmp_path: Path) -> None:
    tool = tmp_path / "bin/nvidia-smi"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho '0, GPU-1, 143771, 580.10, NVIDIA H200'\n")
    tool.chmod(0o755)
    node.env["PATH"] = f"{tool.parent}:{node.env['PATH']}"
    facts = node.call("facts")
    card = {"index": 0, "name": "NVIDIA H200", "uuid": "GPU-1", "driver": "580.10"}
    assert facts["gpus"] == [{**card, "memory_bytes": 143771 * 1024 * 1024}]
    assert facts["gpu_note"] is None
    tool.write_text("#!/bin/sh\necho 'No devices were found'; exit 6\n")
    facts = node.call("facts")
    assert facts["gpus"] == []
    assert facts["gpu_note"] == "nvidia-smi failed with exit status 6: No devices were found"


def test_a_missing_nvidia_smi_is_a_note(node: Node, tmp_path: Path) -> None:
    node.env["PATH"] = str(tmp_path)
    facts = node.call("facts")
    assert (facts["gpus"], facts["gpu_note"]) == ([], "nvidia-smi is not installed")


def test_what_nvidia_smi_cannot_tell_is_unknown(node: Node, tmp_path: Path) -> None:
    tool = tmp_path / "bin/nvidia-smi"
    tool.parent.mkdir()
    row = "1, GPU-2, [N/A], [Unknown Error], GRID A100"
    tool.write_text(f"#!/bin/sh\necho '{row}'\necho 'Warning: something'\n")
    tool.chmod(0o755)
    node.env["PATH"] = f"{tool.parent}:{node.env['PATH']}"
    [card] = node.call("facts")["gpus"]
    assert (card["index"], card["memory_bytes"], card["driver"]) == (1, None, None)


def test_read_and_digest(node: Node) -> None:
    node.start("printf", "0123456789")
    node.ended()
    piece = node.call("read", node.job(path="server.log", offset=3, max_bytes=4))
    assert (piece["offset"], piece["size"]) == (3, 10)
    assert base64.b64decode(piece["data_b64"]) == b"3456"
    beyond = node.call("read", node.job(path="server.log", offset=30, max_bytes=4))
    assert (beyond["data_b64"], beyond["size"]) == ("", 10)
    sha256 = hashlib.sha256(b"0123456789").hexdigest()
    whole = node.call("digest", node.job(path="server.log"))
    assert whole == {"size": 10, "sha256": sha256, "ranges": [], "dropped": None}
    pieces = node.call("digest", node.job(path="server.log", ranges=[[0, 4], [4, 10]]))
    assert pieces["ranges"] == [hashlib.sha256(part).hexdigest() for part in (b"0123", b"456789")]
    assert pieces["sha256"] == sha256


@pytest.mark.parametrize("ranges", ["0-4", [[0]], [[4, 0]], [[-1, 2]], [[True, 2]], [["0", "4"]]])
def test_wrong_ranges_are_refused(node: Node, ranges: object) -> None:
    node.start("true")
    node.ended()
    status, reply = node.ask("digest", node.job(path="server.log", ranges=ranges))
    assert (status, reply["error"]["code"]) == (2, "bad-request")


@pytest.mark.parametrize("path", ["none.txt", "../server/../../../x", "/etc/passwd", ".", ""])
def test_no_other_file_can_be_read(node: Node, path: str) -> None:
    node.start("true")
    node.ended()
    status, reply = node.ask("read", node.job(path=path, offset=0, max_bytes=10))
    assert status in (1, 2)
    assert reply["error"]["code"] in ("no-such-file", "bad-request")


def test_listeners_finds_who_listens(node: Node) -> None:
    code = (
        "import socket,time; s=socket.create_server(('127.0.0.1', 0));"
        "print(s.getsockname()[1], flush=True); time.sleep(60)"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdout=pipe) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        [found] = node.call("listeners", {"port": port})["listeners"]
        process = proc.look(server.pid)
        assert process is not None
        expected = (process.pid, process.pgid, process.sid, process.start_time, process.name)
        assert tuple(found[k] for k in ("pid", "pgid", "sid", "start_time", "name")) == expected
        server.kill()
    assert node.call("listeners", {"port": port}) == {"listeners": []}


def test_listeners_finds_ipv6(node: Node) -> None:
    if not socket.has_ipv6:
        pytest.fail("this machine has no IPv6 loopback")
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        [found] = node.call("listeners", {"port": server.getsockname()[1]})["listeners"]
    assert found["pid"] == os.getpid()


@pytest.mark.parametrize("port", [0, 65536, "80", None, 1.5])
def test_a_port_that_cannot_be_is_refused(node: Node, port: Any) -> None:
    assert node.ask("listeners", {"port": port})[0] == 2


def test_the_state_root_follows_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere")
    assert rundir.state_root() == "/somewhere/throughline"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/her")
    assert rundir.state_root() == "/home/her/.local/state/throughline"
