"""Starting, watching and ending real processes through the built kit."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hosts.nodekit import jsonfile, machine, proc

from .conftest import Node, alive, claim, wait_for

# Two generations: the middle one leaves the session and goes away, its child stays behind.
RUNAWAY = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    for fd in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), fd)
    open(sys.argv[1], "w").write(str(os.getpid()))
    time.sleep(300)
time.sleep(300)
"""
STUBBORN = "import signal,time; signal.signal(15, signal.SIG_IGN); print('up', flush=True)\n"
STUBBORN += "while True: time.sleep(1)"


def test_a_job_outlives_its_starter_and_leaves_its_exit_code(node: Node) -> None:
    started = node.start("sh", "-c", "sleep 0.5; echo late; exit 3")
    assert started["outcome"] == "started"
    assert node.status()["state"] == "running"
    ended = node.ended()
    assert (ended["code"], ended["signal"], ended["reason"]) == (3, None, "exited")
    assert (node.job_dir / "server.log").read_text() == "late\n"
    assert node.status()["state"] == "exited"


def test_the_job_is_in_a_session_of_its_own_below_init_and_our_supervisor(node: Node) -> None:
    started = node.start("sleep", "60")["started"]
    job, supervisor = proc.look(started["pid"]), proc.look(started["supervisor_pid"])
    assert job is not None
    assert supervisor is not None
    assert job.sid == job.pgid == job.pid == started["pgid"]
    assert job.ppid == supervisor.pid
    assert supervisor.sid not in (supervisor.pid, os.getsid(0))
    assert job.start_time == started["start_time"]
    assert started["boot_id"] == machine.boot_id()
    assert abs(started["at"] - time.time()) < 60


def test_the_exit_record_names_the_signal_that_ended_it(node: Node) -> None:
    started = node.start("sleep", "60")["started"]
    os.kill(started["pid"], signal.SIGKILL)
    ended = node.ended()
    assert (ended["code"], ended["signal"], ended["reason"]) == (None, 9, "signalled")


def test_a_second_start_is_told_of_the_first(node: Node) -> None:
    first = node.start("sleep", "60")
    second = node.start("sleep", "61")
    assert second["outcome"] == "already-started"
    assert second["started"] == first["started"]


def test_a_start_after_the_end_does_not_run_it_again(node: Node) -> None:
    node.start("sh", "-c", "echo once")
    node.ended()
    assert node.start("sh", "-c", "echo once")["outcome"] == "already-started"
    assert (node.job_dir / "server.log").read_text() == "once\n"


def test_eight_starts_at_once_run_one_process(node: Node) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: node.start("sh", "-c", "echo x; sleep 60"), range(8)))
    outcomes = sorted(answer["outcome"] for answer in answers)
    assert outcomes == ["already-started"] * 7 + ["started"]
    assert len({answer["started"]["pid"] for answer in answers}) == 1
    wait_for(lambda: (node.job_dir / "server.log").read_text() == "x\n")


@pytest.mark.parametrize("after_s", [0.03, 0.06, 0.09, 0.12, 0.15, 0.2, 0.3])
def test_a_starter_killed_on_its_way_leaves_at_most_one_process(node: Node, after_s: float) -> None:
    request = node.start_request("sh", "-c", "echo x; sleep 60")
    with node.open("start") as starter:
        assert starter.stdin is not None
        starter.stdin.write(json.dumps(request).encode())
        starter.stdin.close()
        time.sleep(after_s)  # anywhere in its work; each moment must do
        starter.kill()
    again = node.call("start", request)
    assert again["outcome"] in ("started", "already-started")
    wait_for(lambda: (node.job_dir / "server.log").read_text() == "x\n")
    assert node.status()["started"]["pid"] == again["started"]["pid"]
    assert node.stop()["outcome"] == "stopped"
    assert (node.job_dir / "server.log").read_text() == "x\n"


def test_the_exit_record_fits_its_reserved_block(tmp_path: Path) -> None:
    path = str(tmp_path / "exit.json")
    jsonfile.reserve(path)
    size = (tmp_path / "exit.json.reserved").stat().st_size
    record = {"code": None, "signal": 9, "reason": "wall-limit", "log_sha256": "0" * 64}
    jsonfile.write_reserved(path, record)
    assert (tmp_path / "exit.json").stat().st_size == size  # not one block more was needed
    assert jsonfile.read_json(path) == record


def test_it_refuses_an_older_fence(node: Node) -> None:
    node.start("sleep", "60", token=5)
    for command, request in (
        ("start", node.start_request("sleep", "60", token=4, attempt="2")),
        ("stop", node.job(fence=claim(4), grace_s=1)),
    ):
        status, reply = node.ask(command, request)
        assert (status, reply["error"]["code"]) == (75, "stale-fence")
    assert node.status()["state"] == "running"
    assert not (node.root / "runs/7/2/server/started.json").exists()


def test_stop_ends_the_whole_group(node: Node) -> None:
    started = node.start("sh", "-c", "sleep 301 & sleep 302 & wait")["started"]
    wait_for(lambda: len(_session(started["pid"])) == 3)
    answer = node.stop()
    assert answer["outcome"] == "stopped"
    assert answer["status"]["exit"]["reason"] == "stopped"
    assert answer["status"]["exit"]["signal"] == signal.SIGTERM
    assert _session(started["pid"]) == []


def test_stop_ends_a_grandchild_that_left_the_session(node: Node, tmp_path: Path) -> None:
    note = tmp_path / "runaway.pid"
    node.start(sys.executable, "-c", RUNAWAY, str(note))
    runaway = int(wait_for(lambda: note.exists() and note.read_text()))
    assert alive(runaway)
    assert node.stop()["outcome"] == "stopped"
    assert not alive(runaway)


def test_what_the_job_forked_ends_with_it(node: Node, tmp_path: Path) -> None:
    note = tmp_path / "runaway.pid"
    short = RUNAWAY.rsplit("time.sleep(300)", 1)[0] + (
        "while not os.path.exists(sys.argv[1]): time.sleep(0.01)"
    )
    node.start(sys.executable, "-c", short, str(note))
    ended = node.ended()
    assert (ended["code"], ended["reason"]) == (0, "exited")
    assert not alive(int(note.read_text()))


def test_a_child_that_ignores_term_is_killed_after_its_grace(node: Node) -> None:
    node.start(sys.executable, "-c", STUBBORN)
    wait_for(lambda: (node.job_dir / "server.log").read_text() == "up\n")
    begun = time.monotonic()
    answer = node.stop(grace_s=0.6)
    assert time.monotonic() - begun >= 0.6
    assert answer["outcome"] == "stopped"
    assert answer["status"]["exit"]["signal"] == signal.SIGKILL


def test_stop_may_be_repeated(node: Node) -> None:
    node.start("sleep", "60")
    assert node.stop()["outcome"] == "stopped"
    again = node.stop()
    assert again["outcome"] == "already-exited"
    assert again["status"]["state"] == "exited"


def test_f58_a_start_that_comes_after_the_stop_starts_nothing(node: Node) -> None:
    assert node.stop()["outcome"] == "absent"
    assert node.stop()["outcome"] == "absent"
    status, reply = node.ask("start", node.start_request("sleep", "60"))
    assert (status, reply["error"]["code"]) == (1, "stopped")
    assert node.status()["state"] == "absent"
    assert not (node.job_dir / "server.log").exists()


def test_two_stops_at_once_agree(node: Node) -> None:
    node.start("sleep", "60")
    with ThreadPoolExecutor(2) as pool:
        outcomes = {answer["outcome"] for answer in pool.map(lambda _: node.stop(), range(2))}
    assert outcomes <= {"stopped", "already-exited"}
    assert node.status()["state"] == "exited"


def test_a_killed_supervisor_is_lost_and_stop_ends_what_it_left(node: Node) -> None:
    started = node.start("sh", "-c", "sleep 301 & wait")["started"]
    wait_for(lambda: len(_session(started["pid"])) == 2)
    os.kill(started["supervisor_pid"], signal.SIGKILL)
    wait_for(lambda: node.status()["state"] == "lost")
    assert alive(started["pid"])
    assert node.stop()["outcome"] == "stopped"
    assert _session(started["pid"]) == []
    assert node.status()["state"] == "lost"
    assert node.stop()["outcome"] == "already-exited"


def test_stop_finds_leftovers_whose_leader_is_gone_too(node: Node, tmp_path: Path) -> None:
    note = tmp_path / "runaway.pid"
    started = node.start(sys.executable, "-c", RUNAWAY, str(note))["started"]
    runaway = int(wait_for(lambda: note.exists() and note.read_text()))
    os.kill(started["supervisor_pid"], signal.SIGKILL)
    os.kill(started["pid"], signal.SIGKILL)
    wait_for(lambda: node.status()["state"] == "lost")
    assert node.stop()["outcome"] == "stopped"
    assert not alive(runaway)


def test_stop_spares_a_stranger_who_got_the_number(node: Node) -> None:
    started = node.start("sleep", "60")["started"]
    os.kill(started["supervisor_pid"], signal.SIGKILL)
    os.kill(started["pid"], signal.SIGKILL)
    wait_for(lambda: node.status()["state"] == "lost")
    with node.open("follow", start_new_session=True) as stranger:
        record = (node.job_dir / "started.json").read_text()
        changed = record.replace(f'"pid": {started["pid"]}', f'"pid": {stranger.pid}')
        (node.job_dir / "started.json").write_text(changed)
        assert node.stop()["outcome"] == "already-exited"
        assert stranger.poll() is None
        stranger.communicate(b"", timeout=20)


def test_another_boot_id_means_rebooted(node: Node) -> None:
    started = node.start("true")["started"]
    node.ended()
    (node.job_dir / "exit.json").unlink()
    record = (node.job_dir / "started.json").read_text()
    (node.job_dir / "started.json").write_text(record.replace(started["boot_id"], "another"))
    assert node.status()["state"] == "rebooted"
    assert node.stop()["outcome"] == "already-exited"


def test_an_unknown_job_is_absent(node: Node) -> None:
    absent = {
        "state": "absent", "started": None, "exit": None, "heartbeat": None, "log_bytes": None,
        "watched": None
    }  # fmt: skip
    told = node.status()
    assert told.pop("boot_id")
    assert told == absent


def test_the_wall_limit_ends_it_without_anyone_asking(node: Node) -> None:
    node.start("sleep", "60", limits={"wall_s": 0.4, "stop_grace_s": 1})
    ended = node.ended()
    assert (ended["reason"], ended["signal"]) == ("wall-limit", signal.SIGTERM)


def test_the_exit_record_has_the_size_and_hash_of_the_log(node: Node) -> None:
    code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 9000); print('end')"
    node.start(sys.executable, "-c", code)
    ended = node.ended()
    log = (node.job_dir / "server.log").read_bytes()
    assert ended["log_bytes"] == len(log) == 256 * 9000 + 4
    assert ended["log_sha256"] == hashlib.sha256(log).hexdigest()
    assert node.status()["log_bytes"] == len(log)


def test_a_log_that_was_taken_away_is_unknown_not_empty(node: Node) -> None:
    node.start("sleep", "60")
    (node.job_dir / "server.log").unlink()
    ended = node.stop()["status"]["exit"]
    assert (ended["log_bytes"], ended["log_sha256"]) == (None, None)


def test_no_such_program_is_said_and_leaves_nothing_started(node: Node) -> None:
    status, reply = node.ask("start", node.start_request("no-such-program-here"))
    assert (status, reply["error"]["code"]) == (1, "cannot-start")
    assert "no-such-program-here: No such file" in reply["error"]["message"]
    assert node.status()["state"] == "absent"
    assert node.start("true")["outcome"] == "started"


def test_a_folder_that_is_not_there_is_said(node: Node) -> None:
    _, reply = node.ask("start", node.start_request("true", cwd="nowhere"))
    assert reply["error"]["code"] == "cannot-start"
    assert "nowhere" in reply["error"]["message"]


def test_placeholders_are_filled_in_and_nothing_else_is(node: Node) -> None:
    shown = "import os, sys; print(*sys.argv[1:], os.environ['PLACE'], os.environ['HOME'])"
    node.start(
        "{python}", "-c", shown, "{kit}", "{job_dir}/a", "$HOME", "{other}",
        env={"PLACE": "at {job_dir}"},
        files={"a.json": '{"dir": "{job_dir}", "x": {}}'},
    )  # fmt: skip
    node.ended()
    expected = f"{node.kit} {node.job_dir}/a $HOME {{other}} at {node.job_dir} {node.home}\n"
    assert (node.job_dir / "server.log").read_text() == expected
    assert (node.job_dir / "a.json").read_text() == f'{{"dir": "{node.job_dir}", "x": {{}}}}'


def test_its_own_name_in_a_variable_is_what_the_login_has(node: Node, tmp_path: Path) -> None:
    tool = tmp_path / "bin" / "engine"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\necho "$PATH|$FRESH|$OTHER"\n')
    tool.chmod(0o755)
    node.env.pop("FRESH", None)
    node.start(
        "engine",
        env={"PATH": f"{tool.parent}:${{PATH}}", "FRESH": "/a:$FRESH", "OTHER": "$HOME $OTHERS"},
    )
    node.ended()
    expected = f"{tool.parent}:{node.env['PATH']}|/a|$HOME $OTHERS\n"
    assert (node.job_dir / "server.log").read_text() == expected


def test_everything_is_readable_by_its_owner_only(node: Node) -> None:
    node.root.chmod(0o755)
    node.start("sh", "-c", "cat secret", files={"secret": "s3cret"}, env={"TOKEN": "s3cret"})
    node.ended()
    assert node.root.stat().st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o777 for path in node.job_dir.iterdir()}
    assert set(modes.values()) == {0o600}
    assert "s3cret" not in (node.job_dir / "spec.json").read_text()


def test_the_job_has_default_signals_and_nothing_of_ours_open(node: Node) -> None:
    node.start("sh", "-c", "ls /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign)' /proc/self/status")
    node.ended()
    lines = (node.job_dir / "server.log").read_text().split()
    assert int(lines[0]) == 4  # 0, 1, 2 and the folder that ls reads
    assert int(lines[2], 16) == 0
    assert int(lines[4], 16) & (1 << signal.SIGPIPE - 1) == 0


def _session(sid: int) -> list[int]:
    return [process.pid for process in proc.living() if process.sid == sid]
