"""Starts that fail, servers that die or hang."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hosts.demo.simulator import faults

from .conftest import ROOT, Launch

QUESTION = {"messages": [{"role": "user", "content": "What is 15 * 23?"}], "max_tokens": 32}


@pytest.mark.parametrize(
    ("flags", "env", "words"),
    [
        (
            ("--model-path", "demo/missing-model"),
            {},
            "Cannot find any model weights with `demo/missing-model`",
        ),
        (("--mem-fraction-static", "0.5"), {}, "Not enough memory. Please try to increase"),
        ((), {"SIM_FAULT": "crash-at-start"}, "Received sigquit from a child process."),
        ((), {"SIM_FAULT": "oom-at-capture"}, "Capture cuda graph failed: CUDA out of memory."),
        (("--speculative-algorithm", "STANDALONE"), {}, "needs --speculative-draft-model-path"),
    ],
)
def test_a_start_that_fails_says_why_and_exits_1(
    launch: Launch, flags: tuple[str, ...], env: dict[str, str], words: str
) -> None:
    server = launch(*flags, ready=False, **env)
    assert server.wait_until_ended() == 1
    assert words in server.log
    assert "Traceback (most recent call last):" in server.log


def test_a_busy_port_is_told_and_ends_the_second_server(launch: Launch) -> None:
    first = launch()
    second = launch(port=first.port, ready=False)
    assert second.wait_until_ended() == 1
    assert (
        "ERROR:    [Errno 98] error while attempting to bind on address "
        f"('127.0.0.1', {first.port}): address already in use"
    ) in second.log
    assert first.ask("GET", "/health")[0] == 200


def test_never_ready_stays_at_503(launch: Launch) -> None:
    server = launch(ready=False, SIM_FAULT="never-ready")
    server.wait_for(lambda: "GET /model_info" in server.log, "the warm-up to begin")
    assert server.ask("GET", "/health")[0] == 503
    assert server.ask("GET", "/model_info")[0] == 200
    server.process.send_signal(signal.SIGTERM)
    assert server.wait_until_ended() == -signal.SIGKILL
    assert "fired up" not in server.log


def test_too_much_static_memory_dies_at_the_first_question(launch: Launch) -> None:
    server = launch("--mem-fraction-static", "0.995")
    with pytest.raises(OSError):
        server.ask("POST", "/v1/chat/completions", QUESTION)
    assert server.wait_until_ended() == -signal.SIGKILL
    assert "Scheduler hit an exception: Traceback (most recent call last):" in server.log
    assert "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate" in server.log
    assert "SIGQUIT received. signum=None, frame=None." in server.log


def test_die_after_kills_the_scheduler_process(launch: Launch) -> None:
    server = launch(SIM_FAULT="die-after:0.2")
    assert server.wait_until_ended() == -signal.SIGKILL
    assert re.search(
        r"Subprocess scheduler_0 \(pid=\d+\) crashed with exit code -9\. "
        r"Triggering SIGQUIT for cleanup\.\.\.",
        server.log,
    )


def test_the_scheduler_is_a_process_that_can_be_killed(launch: Launch) -> None:
    server = launch()
    [child] = _children(server.process.pid)
    os.kill(child, signal.SIGKILL)
    assert server.wait_until_ended() == -signal.SIGKILL
    assert f"Subprocess scheduler_0 (pid={child}) crashed with exit code -9." in server.log


def test_the_scheduler_process_ends_with_a_killed_server(launch: Launch) -> None:
    server = launch()
    [child] = _children(server.process.pid)
    server.stop()
    server.wait_for(lambda: not _lives(child), "the child to leave")


def test_a_hung_server_fails_its_health_check(launch: Launch) -> None:
    server = launch(SIM_FAULT="hang", SGLANG_HEALTH_CHECK_TIMEOUT="0.3")
    server.wait_for(lambda: server.ask("GET", "/health")[0] == 503, "an unhealthy answer")
    assert "Health check failed. Server couldn't get a response from detokenizer" in server.log


def test_the_watchdog_ends_a_hung_server(launch: Launch) -> None:
    server = launch(
        "--watchdog-timeout", "0.2", SIM_FAULT="hang", SGLANG_HEALTH_CHECK_TIMEOUT="0.1"
    )
    with pytest.raises(OSError):
        server.ask("POST", "/v1/chat/completions", QUESTION)
    assert server.wait_until_ended() == -signal.SIGKILL
    assert "Scheduler watchdog timeout (self.watchdog_timeout=0.2, self.soft=False)" in server.log


def test_wrong_model_tells_another_one(launch: Launch) -> None:
    server = launch(SIM_FAULT="wrong-model")
    assert server.json("GET", "/model_info")["model_path"] == "demo/model-other"
    assert server.json("GET", "/v1/models")["data"][0]["id"] == "demo/model-other"
    assert server.json("GET", "/server_info")["model_path"] == "demo/model-other"


@pytest.mark.parametrize(
    "environ",
    [
        {"SIM_FAULT": "explode"},
        {"SIM_FAULT": "die-after"},
        {"SIM_FAULT": "hang:soon"},
        {"SIM_STARTUP_S": "-1"},
        {"SIM_STARTUP_S": "nan"},
    ],
)
def test_a_fault_that_cannot_be_meant_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(environ))):
        faults.read(environ)


def test_it_runs_from_a_copy_under_another_name(tmp_path: Path) -> None:
    copy = tmp_path / "throughline_sim"
    shutil.copytree(ROOT / "hosts" / "demo" / "simulator", copy)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
        "from throughline_sim.server import main; main(['--help'])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        capture_output=True,
        text=True,
        timeout=15,
        check=False,
    )
    assert done.returncode == 0
    assert "--speculative-num-steps" in done.stdout
    assert "Simulated SGLang" in done.stdout


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
