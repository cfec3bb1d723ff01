"""A real OpenSSH server on a port of its own, as root or as any user, with a home of its own."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from hosts.transport.protocol import Target

SFTP_SERVERS = (
    "/usr/lib/openssh/sftp-server",
    "/usr/libexec/openssh/sftp-server",
    "/usr/lib/ssh/sftp-server",
    "/usr/libexec/sftp-server",
)

# The login of a test must not touch the home of whoever runs the tests, and sshd takes the home
# from the user table. So every command is entered through this script, which is what
# ForceCommand is for; what then runs is the command as it was sent.
ENTER = """#!/bin/sh
cd "$HOME" || exit 97
exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"
"""

# The interpreter that runs the tests is the node's python3, whatever else the machine has.
PATH = f"{Path(sys.base_prefix) / 'bin'}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

LOGIN = re.compile(r"(?:Accepted|Failed|Postponed) \S+ for|authenticating user|[Ii]nvalid user")

CONFIG = """
Port {port}
ListenAddress 127.0.0.1
HostKey {dir}/host_key
AuthorizedKeysFile {dir}/user_key.pub
ForceCommand {dir}/enter
SetEnv HOME={dir}/home PATH={path}
Subsystem sftp {sftp}
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
MaxStartups {startups}
LogLevel VERBOSE
"""


def why_not() -> str | None:
    """What is missing to run sshd here, or None."""
    if shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is None:
        return "no sshd on this machine (apt-get install openssh-server)"
    if not any(map(os.path.exists, SFTP_SERVERS)):
        return "no sftp-server beside sshd on this machine (apt-get install openssh-sftp-server)"
    return None


@dataclass(frozen=True)
class Sshd:
    """A running server; ``log`` grows while it runs."""

    process: subprocess.Popen[bytes]
    port: int
    dir: Path
    log: Path

    @property
    def home(self) -> Path:
        return self.dir / "home"

    @property
    def target(self) -> Target:
        return Target(
            address="127.0.0.1",
            port=self.port,
            user=getpass.getuser(),
            host_keys=(public(self.dir / "host_key"),),
            key_path=str(self.dir / "user_key"),
            agent_path=None,
            loopback=True,
        )

    def login_attempts(self) -> int:
        """How many times anybody tried to prove who they are."""
        return len(LOGIN.findall(self.log.read_text(errors="replace")))

    def connections(self) -> int:
        return self.log.read_text(errors="replace").count("Connection from 127.0.0.1")

    def kill_sessions(self) -> int:
        """SIGKILL the processes that serve connections; returns how many."""
        pids = children(self.process.pid)
        for pid in pids:
            for below in children(pid):
                if "sshd" in comm(below):
                    os.kill(below, signal.SIGKILL)
            os.kill(pid, signal.SIGKILL)
        return len(pids)

    def stop(self) -> None:
        self.kill_sessions()
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start(dir: Path, extra: str = "", startups: str = "100") -> Sshd:
    """Keys, configuration (with ``extra`` lines), server; returns once the port answers."""
    home = dir / "home"
    home.mkdir(parents=True, mode=0o700)
    for name in ("host_key", "user_key"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(dir / name)], check=True
        )
    enter = dir / "enter"
    enter.write_text(ENTER)
    enter.chmod(0o755)
    if os.getuid() == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # sshd insists when it is root
    sftp = next(filter(os.path.exists, SFTP_SERVERS))
    for _ in range(5):  # the port is free now; somebody else may take it before sshd does
        port = free_port()
        told = CONFIG.format(port=port, dir=dir, sftp=sftp, path=PATH, startups=startups)
        config = told + extra
        (dir / "sshd_config").write_text(config)
        server = _spawn(dir, port)
        if server is not None:
            return server
    raise RuntimeError(f"sshd did not start: {(dir / 'sshd.log').read_text()[-2000:]}")


def _spawn(dir: Path, port: int) -> Sshd | None:
    binary = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    assert binary is not None
    log = dir / "sshd.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [os.path.abspath(binary), "-D", "-e", "-f", str(dir / "sshd_config")],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    end = time.monotonic() + 5
    while time.monotonic() < end and process.poll() is None:
        if "Server listening on" in log.read_text(errors="replace"):
            return Sshd(process, port, dir, log)
        time.sleep(0.01)
    if process.poll() is None:
        process.kill()
    process.wait()
    return None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def public(key: Path) -> str:
    """The public half of a key file as "algorithm base64", without its comment."""
    return " ".join(Path(f"{key}.pub").read_text().split()[:2])


def children(pid: int) -> list[int]:
    """Direct children of a process."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
