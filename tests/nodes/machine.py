"""One test node: systemd, journald and sshd of its own behind an address of its own.

It is `systemd-nspawn -b` on an overlay (below: the shared base, above: memory) inside a network
namespace, joined to one bridge. The addresses are of the range that is reserved for benchmarks of
networks (198.18.0.0/15): no machine elsewhere has one, and an unreachable route keeps them here.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from tests.nodes.base import FIRST_UID, USERS, ensure, run

STATE = Path("/run/throughline-nodes")
BRIDGE = "tlnodes0"
NET = "198.18.87"
PREFIX = "tln"
KEY = STATE / "id_ed25519"
# With --keep-unit nspawn leaves with 133 where it should start the node anew: the loop does that.
LOOP = 'while :; do "$@"; [ $? = 133 ] || exit; done'


def quiet(*words: object, **options: object) -> subprocess.CompletedProcess[bytes]:
    """A command that may fail; nobody looks at what it says."""
    nothing = subprocess.DEVNULL
    return run(*words, check=False, stdout=nothing, stderr=nothing, **options)


def prepare_host() -> None:
    """The bridge and the key that all nodes accept."""
    STATE.mkdir(parents=True, exist_ok=True)
    if not KEY.exists():
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", KEY)
    if not Path("/sys/class/net", BRIDGE).exists():
        run("ip", "link", "add", BRIDGE, "type", "bridge", "forward_delay", "0")
        run("ip", "addr", "add", f"{NET}.1/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")
        run("ip", "route", "replace", "unreachable", f"{NET}.0/24", "metric", "4096")


def clear_host() -> None:
    """As if no node had ever been here, also after a test run that was killed."""
    for folder in sorted(STATE.glob("*/root")):
        Machine(folder.parent.name, 0).destroy()
    quiet("ip", "link", "del", BRIDGE)
    quiet("ip", "route", "del", "unreachable", f"{NET}.0/24", "metric", "4096")
    shutil.rmtree(STATE, ignore_errors=True)


class Machine:
    """``number`` makes the address. Faults are methods; each has its way back."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.address = f"{NET}.{number}"
        self.dir = STATE / name
        self.root = self.dir / "root"
        self.space = f"{PREFIX}-{name}"
        self._process: subprocess.Popen[bytes] | None = None

    # -- life

    def create(self) -> Machine:
        base = ensure()
        upper = self.dir / "upper"
        upper.mkdir(parents=True)
        run("mount", "-t", "tmpfs", "-o", "size=2g", "tmpfs", upper)
        for folder in (upper / "files", upper / "work", self.root):
            folder.mkdir()
        layers = f"lowerdir={base},upperdir={upper}/files,workdir={upper}/work"
        run("mount", "-t", "overlay", "overlay", "-o", layers, self.root)
        self._settle_in()
        self._connect()
        self._boot()
        return self

    def _settle_in(self) -> None:
        (self.root / "etc/hostname").write_text(self.name + "\n")
        (self.root / "etc/hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1 {self.name}\n")
        (self.root / "etc/fstab").write_text("tmpfs /data tmpfs size=16m,mode=1777 0 0\n")
        (self.root / "data").mkdir()
        host_key = self.root / "etc/ssh/ssh_host_ed25519_key"
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", host_key)
        homes = {"root": 0} | {f"home/{user}": FIRST_UID + i for i, user in enumerate(USERS)}
        for home, uid in homes.items():
            folder = self.root / home / ".ssh"
            folder.mkdir(mode=0o700, exist_ok=True)
            allowed = folder / "authorized_keys"
            shutil.copyfile(f"{KEY}.pub", allowed)
            allowed.chmod(0o600)
            run("chown", "-R", f"{uid}:{uid}", self.root / home)

    @property
    def host_key(self) -> str:
        public = (self.root / "etc/ssh/ssh_host_ed25519_key.pub").read_text()
        return " ".join(public.split()[:2])

    def _connect(self) -> None:
        run("ip", "netns", "add", self.space)
        run("ip", "link", "add", self.space, "type", "veth",
            "peer", "name", "host0", "netns", self.space)  # fmt: skip
        run("ip", "link", "set", self.space, "master", BRIDGE, "up")
        for words in (
            "link set lo up",
            f"addr add {self.address}/24 dev host0",
            "link set host0 up",
        ):
            run("ip", "-n", self.space, *words.split())

    def _boot(self) -> None:
        groups = self._groups()
        for group in groups:
            group.mkdir(exist_ok=True)

        def enter() -> None:
            for group in groups:
                (group / "cgroup.procs").write_text("0")

        with (self.dir / "console.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    "/bin/sh", "-c", LOOP, "node", "systemd-nspawn", "-b", "-q",
                    "-D", str(self.root), "-M", self.space, f"--hostname={self.name}",
                    "--register=no", "--keep-unit", "--console=pipe", "--link-journal=no",
                    f"--network-namespace-path=/run/netns/{self.space}", "--resolv-conf=off",
                    "--timezone=off", "--settings=no",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=enter,
                env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
            )  # fmt: skip

    def _groups(self) -> list[Path]:
        """A cgroup of the node's own in every hierarchy.

        Without it two nodes started with --keep-unit would share one, and the systemd of one would
        manage the services of the other.
        """
        found = []
        for line in Path("/proc/mounts").read_text().splitlines():
            _, point, kind, options, *_ = line.split()
            ours = kind in ("cgroup", "cgroup2") and point.startswith("/sys/fs/cgroup")
            if ours and "cpuset" not in options.split(","):  # cpuset takes nobody unconfigured
                found.append(Path(point) / self.space)
        return found

    def wait(self, seconds: float = 30.0) -> Machine:
        """Until sshd greets."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                with socket.create_connection((self.address, 22), 1) as link:
                    link.settimeout(2)
                    if link.recv(8).startswith(b"SSH-"):
                        return self
            except OSError:
                time.sleep(0.03)
        raise TimeoutError(f"{self.name} does not answer; see {self.dir}/console.log")

    def destroy(self) -> None:
        self._power_off()
        for pid in self._pids():
            _kill(pid)
        quiet("ip", "link", "del", self.space)
        quiet("ip", "netns", "del", self.space)
        for mount in (self.root, self.dir / "upper"):
            quiet("umount", "-l", mount)
        for group in self._groups():
            for folder in sorted(group.glob("**/"), key=lambda path: -len(path.parts)):
                _remove_group(folder)
        shutil.rmtree(self.dir, ignore_errors=True)

    # -- work

    def ssh(self, command: str, *, user: str = "root", check: bool = True) -> str:
        """What a command says on the node, logged in as ``user``."""
        done = subprocess.run(
            [*self.ssh_words(user), command],
            check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
        )  # fmt: skip
        said = done.stdout.decode(errors="replace")
        assert not check or done.returncode == 0, f"{command}: {said}{done.stderr.decode()}"
        return said

    def ssh_words(self, user: str) -> list[str]:
        known = self.dir / "known_hosts"
        known.write_text(f"{self.address} {self.host_key}\n")
        return [
            "ssh", "-q", "-F", "none", "-i", str(KEY), "-o", "BatchMode=yes",
            "-o", f"UserKnownHostsFile={known}", f"{user}@{self.address}",
        ]  # fmt: skip

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """A file on the node, as its administrator would put it there."""
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    # -- faults

    def partition(self) -> None:
        """The cable is pulled: packets vanish, nobody is told."""
        run("ip", "link", "set", self.space, "down")

    def heal(self) -> None:
        run("ip", "link", "set", self.space, "up")

    def reboot(self) -> None:
        """Orderly; name, data and address stay."""
        self.ssh("systemctl reboot", check=False)
        self._wait_down()

    def crash(self) -> None:
        """A power cut and a start: no packet tells of it."""
        self.partition()
        self._power_off()
        self.heal()
        self._boot()

    def kill_sessions(self) -> int:
        """SIGKILL every sshd that serves a connection; how many there were."""
        serving = [
            pid
            for pid, words in self._pids().items()
            if words.startswith("sshd: ") and "listener" not in words
        ]
        for pid in serving:
            _kill(pid)
        return len(serving)

    def freeze(self) -> None:
        """The kernel still takes TCP, nothing answers."""
        self._freezer("FROZEN", "1")

    def thaw(self) -> None:
        self._freezer("THAWED", "0")

    def _freezer(self, first: str, second: str) -> None:
        for group in self._groups():
            for file, value in (("freezer.state", first), ("cgroup.freeze", second)):
                for path in (group / "payload" / file, group / file):
                    if path.exists():
                        path.write_text(value)
                        return
        raise RuntimeError("no cgroup here can freeze a node")

    def limit_memory(self, mib: int) -> None:
        """Of the whole node, so that the kernel's killer comes."""
        for group in self._groups():
            for file in ("memory.limit_in_bytes", "memory.max"):
                if (group / file).exists():
                    (group / file).write_text(str(mib << 20))
                    return
        raise RuntimeError("no cgroup here can limit memory")

    def fill_disk(self) -> None:
        """/data, 16 MiB."""
        self.ssh("dd if=/dev/zero of=/data/.fill bs=1M status=none", check=False)

    def free_disk(self) -> None:
        self.ssh("rm -f /data/.fill")

    # -- its processes, as seen from here

    def _pids(self) -> dict[int, str]:
        """Pid and command line of all processes in the node's network."""
        try:
            wanted = os.stat(f"/run/netns/{self.space}").st_ino
        except OSError:
            return {}
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if os.stat(folder / "ns/net").st_ino == wanted:
                    words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(folder.name)] = words.decode(errors="replace").strip()
            except OSError:
                continue  # gone meanwhile
        return found

    def _power_off(self) -> None:
        """SIGKILL the node's init; the kernel ends the rest."""
        for pid in self._pids():
            if _ids(pid)[-1:] == [1]:
                _kill(pid)
        if self._process is not None:
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _wait_down(self, seconds: float = 30.0) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                socket.create_connection((self.address, 22), 0.5).close()
                time.sleep(0.03)
            except OSError:
                return
        raise TimeoutError(f"{self.name} does not go down")


def _ids(pid: int) -> list[int]:
    """The process's number in each namespace, ours first."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return []
    words = next((line.split()[1:] for line in lines if line.startswith("NSpid:")), [])
    return [int(word) for word in words]


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # a moment ago


def _remove_group(folder: Path) -> None:
    for _ in range(20):
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)
