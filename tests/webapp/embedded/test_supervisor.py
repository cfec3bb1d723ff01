"""The supervisor against real processes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from webapp.embedded import supervisor as module
from webapp.embedded import watcher
from webapp.embedded.supervisor import Program, Supervisor

ROOT = Path(__file__).resolve().parents[3]


async def until(is_so: Callable[[], object], limit_s: float = 10.0) -> None:
    deadline = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < deadline, "waited in vain"
        await asyncio.sleep(0.02)


def write(path: Path, name: str) -> str:
    """Shell words that leave the process id of ``sh`` in a file, whole or not at all."""
    return f"echo $$ > {path / name}.new && mv {path / name}.new {path / name}"


def number(path: Path) -> int:
    return int(path.read_text())


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "node-home"


def make(tmp_path: Path, home: Path, said: list[str]) -> Supervisor:
    made = Supervisor(cwd=tmp_path, environ=os.environ, node_home=home, say=said.append)
    made.watch()
    return made


def program(tmp_path: Path, name: str, script: str) -> Program:
    return Program(name, ["sh", "-c", script], tmp_path / f"{name}.log")


async def test_it_starts_children_and_ends_them_with_their_groups(tmp_path, home, said) -> None:
    keeper = make(tmp_path, home, said)
    script = f"{write(tmp_path, 'parent')}; (sh -c '{write(tmp_path, 'child')}; sleep 60'); true"
    keeper.start(program(tmp_path, "one", script))
    await until((tmp_path / "child").exists)
    pids = [number(tmp_path / "parent"), number(tmp_path / "child")]
    await keeper.stop()
    assert not [pid for pid in pids if watcher.is_running(pid)]
    assert said == []


async def test_a_child_that_ignores_the_request_is_killed(tmp_path, home, said) -> None:
    keeper = make(tmp_path, home, said)
    script = f"trap '' TERM; {write(tmp_path, 'pid')}; while :; do sleep 0.1; done"
    keeper.start(program(tmp_path, "stubborn", script))
    await until((tmp_path / "pid").exists)
    began = time.monotonic()
    await keeper.stop(grace_s=0.3)
    assert time.monotonic() - began < 5
    assert not watcher.is_running(number(tmp_path / "pid"))


async def test_a_child_that_died_is_started_again_and_that_is_said(
    tmp_path, home, said, monkeypatch
) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.05)
    keeper = make(tmp_path, home, said)
    script = (
        f"echo gone wrong; test -e {tmp_path}/again && {write(tmp_path, 'second')} && sleep 60; "
        f"touch {tmp_path}/again; exit 3"
    )
    keeper.start(program(tmp_path, "weak", script))
    await until((tmp_path / "second").exists)
    await keeper.stop()
    assert said == [
        f"weak ended (exit 3), starting it again in 0.05 s. {tmp_path}/weak.log: gone wrong"
    ]


async def test_what_a_dead_child_leaves_behind_ends_before_it_starts_again(
    tmp_path, home, said, monkeypatch
) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.05)
    keeper = make(tmp_path, home, said)
    script = (
        f"test -e {tmp_path}/left && exec sleep 60; "
        f"sh -c '{write(tmp_path, 'left')}; sleep 60' & "
        f"while ! test -e {tmp_path}/left; do sleep 0.02; done; kill -9 $$"
    )
    keeper.start(program(tmp_path, "pool", script))
    await until(lambda: said)
    await until(lambda: not watcher.is_running(number(tmp_path / "left")))
    await keeper.stop()
    assert said[0].startswith("pool ended (SIGKILL)")


async def test_stopping_while_a_child_waits_to_be_started_again(tmp_path, home, said) -> None:
    keeper = make(tmp_path, home, said)
    keeper.start(program(tmp_path, "weak", "exit 1"))
    await until(lambda: said)
    began = time.monotonic()
    await keeper.stop()
    assert time.monotonic() - began < 0.9
    assert keeper.running == {}


async def test_no_child_is_started_again_while_a_slow_one_is_being_ended(
    tmp_path, home, said, monkeypatch
) -> None:
    """Seen: a child that had just died came back during the grace of the others, and stayed."""
    monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.2)
    keeper = make(tmp_path, home, said)
    deaf = f"trap '' TERM; {write(tmp_path, 'deaf')}; while :; do sleep 0.1; done"
    keeper.start(program(tmp_path, "deaf", deaf))
    await until((tmp_path / "deaf").exists)
    again = f"test -e {tmp_path}/died && {write(tmp_path, 'again')} && exec sleep 60; "
    keeper.start(program(tmp_path, "weak", again + f"touch {tmp_path}/died; exit 1"))
    await until(lambda: said)
    await asyncio.wait_for(keeper.stop(grace_s=1.0), 5)
    assert not (tmp_path / "again").exists()
    assert keeper.running == {}


@pytest.mark.parametrize("victim", [signal.SIGKILL, signal.SIGTERM])
async def test_nothing_outlives_a_supervisor_that_was_killed(tmp_path, home, victim) -> None:
    """Not a plain child, not a deaf one, not what runs detached on the demo node."""
    deaf = f"trap '' TERM; {write(tmp_path, 'deaf')}; while :; do sleep 0.1; done"
    far = f"HOME={home} setsid -f sh -c '{write(tmp_path, 'far')}; sleep 60'"
    near = f"{far}; {write(tmp_path, 'near')}; sleep 60"
    code = f"""
import asyncio, os
from pathlib import Path
from webapp.embedded.supervisor import Program, Supervisor
async def main():
    keeper = Supervisor(cwd=Path("/"), environ=os.environ, node_home=Path({str(home)!r}), say=print)
    keeper.watch()
    keeper.start(Program("deaf", ["sh", "-c", {deaf!r}], Path({str(tmp_path / "a.log")!r})))
    keeper.start(Program("near", ["sh", "-c", {near!r}], Path({str(tmp_path / "b.log")!r})))
    await asyncio.sleep(60)
asyncio.run(main())
"""
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    names = ("deaf", "near", "far")
    await until(lambda: all((tmp_path / name).exists() for name in names))
    pids = [number(tmp_path / name) for name in names]
    assert all(watcher.is_running(pid) for pid in pids)
    process.send_signal(victim)
    process.wait(10)
    await until(lambda: not any(watcher.is_running(pid) for pid in pids), limit_s=15)


def test_the_pause_doubles_up_to_a_limit_and_starts_over_after_a_steady_life() -> None:
    pauses = [0.0]
    for _ in range(7):
        pauses.append(module.next_pause(pauses[-1], lived_s=0.1))
    assert pauses == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert module.next_pause(30.0, lived_s=61.0) == 1.0


def test_an_end_is_told_in_words() -> None:
    assert module.how_it_ended(0) == "exit 0"
    assert module.how_it_ended(-9) == "SIGKILL"
    assert module.how_it_ended(-200) == "signal 200"


def test_a_long_log_is_moved_aside_and_a_short_one_kept(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(module, "LOG_LIMIT_BYTES", 10)
    long, short = tmp_path / "long.log", tmp_path / "short.log"
    long.write_text("x" * 11)
    short.write_text("x" * 10)
    for log in (long, short, tmp_path / "none.log"):
        module.move_aside(log)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.log.1", "short.log"]
