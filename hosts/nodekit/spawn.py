"""Start a program in a session of its own, with a record of it on disk before its first step."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import Callable, Dict, List, NoReturn, Set

from .errors import KitError

_GO = b"g"
_READY = b"r"


@dataclass(frozen=True)
class Program:
    argv: List[str]
    env: Dict[str, str]  # the whole environment
    cwd: str
    log_path: str  # gets stdout and stderr, appended


def spawn(program: Program, mask: Set[signal.Signals], record: Callable[[int], None]) -> int:
    """The pid of the program, which leads its own session and process group.

    `record(pid)` runs when the session exists and before the program is executed. Should we die
    in between, the child sees its pipe close and goes away: no process is ever without a record.
    `mask` is the signal mask the program gets. Raises KitError `cannot-start`.
    """
    go_read, go_write = os.pipe()
    said_read, said_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go_write)
        _become(program, mask, go_read, said_write)
    os.close(go_read)
    os.close(said_write)
    try:
        if os.read(said_read, 1) == _READY:
            record(pid)
            os.write(go_write, _GO)
        problem = _read_all(said_read)
    finally:
        os.close(go_write)
        os.close(said_read)
    if problem:
        os.waitpid(pid, 0)
        raise KitError("cannot-start", problem)
    return pid


def _read_all(fd: int) -> str:
    said = b""
    while True:
        chunk = os.read(fd, 4096)
        if not chunk:
            return said.decode("utf-8", "replace")
        said += chunk


def _become(program: Program, mask: Set[signal.Signals], go: int, said: int) -> NoReturn:
    """In the child: never returns, and says on `said` why it could not become the program."""
    try:
        os.setsid()
        os.write(said, _READY)
        if os.read(go, 1) != _GO:
            os._exit(125)
        _redirect(program.log_path)
        _enter(program.cwd)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it; programs expect it
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _execute(program)
    except BaseException as error:  # a copy of the supervisor must not go on living
        os.write(said, str(error).encode("utf-8", "replace"))
    finally:
        os._exit(127)


def _enter(folder: str) -> None:
    try:
        os.chdir(folder)
    except OSError as error:
        raise OSError("cannot work in {}: {}".format(folder, error.strerror)) from None


def _execute(program: Program) -> NoReturn:
    try:
        os.execvpe(program.argv[0], program.argv, program.env)
    except OSError as error:
        raise OSError("cannot run {}: {}".format(program.argv[0], error.strerror)) from None


def _redirect(log_path: str) -> None:
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
