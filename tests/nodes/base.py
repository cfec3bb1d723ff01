"""The root folder all test nodes share: a small Debian, built once and kept.

Needs root and the programs in NEEDED. Takes half a minute from a mirror, nothing afterwards.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from hosts.demo.home import Home

CACHE = Path(os.environ.get("THROUGHLINE_NODES_CACHE", "/var/cache/throughline-nodes"))
BUILD = Path("/dev/shm/throughline-nodes-build")  # dpkg syncs every file: memory halves the time
SUITE = "bookworm"
PACKAGES = (
    "systemd systemd-sysv dbus dbus-user-session libpam-systemd openssh-server python3 iproute2 "
    "procps sudo nftables fish"
).split()
NEEDED = {
    "systemd-nspawn": "systemd-container",
    "mmdebstrap": "mmdebstrap",
    "nft": "nftables",
    "ip": "iproute2",
    "ssh-keygen": "openssh-client",
}
USERS = {"ops": "/bin/bash", "noisy": "/bin/bash", "dash": "/bin/dash", "fishy": "/usr/bin/fish"}
FIRST_UID = 1000
# Nothing of these is of use in a node, and each of them costs time or a "degraded" system.
MASKED = (
    "apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer "
    "getty.target console-getty.service systemd-networkd.service systemd-resolved.service "
    "systemd-timesyncd.service nftables.service systemd-firstboot.service"
).split()
SSHD = "PasswordAuthentication no\nUseDNS no\nPermitRootLogin prohibit-password\n"
JOURNALD = "[Journal]\nStorage=persistent\nSystemMaxUse=64M\n"


def missing() -> list[str]:
    """The Debian packages this machine lacks for nodes."""
    return sorted({package for program, package in NEEDED.items() if not _which(program)})


def _which(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def ensure() -> Path:
    """The finished root; built now if it is not there yet."""
    told = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    root = CACHE / f"base-{told}"
    if root.exists():
        return root
    CACHE.mkdir(parents=True, exist_ok=True)
    part = CACHE / f"part-{os.getpid()}"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    try:
        run("tar", "xf", _archive(), "-C", part)
        _furnish(part)
        part.rename(root)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return root


def run(*words: object, **options: object) -> subprocess.CompletedProcess[bytes]:
    options = {"check": True, "stdin": subprocess.DEVNULL, **options}
    return subprocess.run([str(word) for word in words], **options)  # type: ignore[call-overload, no-any-return]


def _archive() -> Path:
    """Debian with our packages, as one tar file."""
    wanted = ",".join(PACKAGES)
    archive = CACHE / f"debian-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}.tar"
    if archive.exists():
        return archive
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir()
    part = archive.with_name(f"part-{archive.name}")
    try:
        run(
            "mmdebstrap", "--quiet", "--variant=minbase", "--dpkgopt=force-unsafe-io",
            '--aptopt=APT::Install-Recommends "false"', f"--include={wanted}",
            SUITE, part, _mirror(), env={**os.environ, "TMPDIR": str(BUILD)},
        )  # fmt: skip
        part.rename(archive)
    finally:
        shutil.rmtree(BUILD, ignore_errors=True)
    return archive


def _mirror() -> str:
    """The mirror that this machine's own apt uses."""
    sources = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    for path in sources:
        lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
        for word in " ".join(line.partition("#")[0] for line in lines).split():
            if word.startswith(("http://", "https://")) and "security" not in word:
                return word.rstrip("/")
    raise RuntimeError("no Debian mirror stands in /etc/apt")


def _furnish(root: Path) -> None:
    for key in (root / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    _write(root / "etc/machine-id", "uninitialized\n")
    for unit in MASKED:
        link = root / "etc/systemd/system" / unit
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/null")
    _write(root / "etc/systemd/journald.conf.d/nodes.conf", JOURNALD)
    (root / "var/log/journal").mkdir(parents=True, exist_ok=True)
    _write(root / "etc/ssh/sshd_config.d/nodes.conf", SSHD)
    for user, shell in USERS.items():
        run("chroot", root, "useradd", "-m", "-s", shell, user)
    run("chroot", root, "usermod", "-a", "-G", "systemd-journal", "ops")
    _write(root / "home/noisy/.bashrc", 'echo "Welcome to {llm}"; printf "\\033[1mmotd\\n"\n')
    _write(root / "home/noisy/.hushlogin", "")
    _write(root / "home/fishy/.config/fish/config.fish", "echo hello from fish\n")
    _engine(root)


def _engine(root: Path) -> None:
    """The simulated engine, where every user's python3 finds it."""
    home = Home(root / "tmp/engine")
    home.install()
    shutil.copytree(home.path / "lib", root / "usr/lib/python3/dist-packages", dirs_exist_ok=True)
    shutil.rmtree(home.path)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    print(ensure())
