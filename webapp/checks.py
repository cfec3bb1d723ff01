"""What must be right before any process of ours starts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

MOUNTS = Path("/proc/self/mounts")
# Locks do not hold on them for certain, and SQLite's write-ahead log needs shared memory.
NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "glusterfs", "lustre", "afs"}
NETWORK_FUSE = ("fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.ceph", "fuse.rclone")


@register()
def database_is_on_a_local_disk(**_: Any) -> list[CheckMessage]:
    """SQLite on a network file system loses writes; refused before it can."""
    told = settings.DATABASES["default"]
    if not str(told["ENGINE"]).endswith("sqlite3"):
        return []
    kind = file_system(Path(str(told["NAME"])), MOUNTS)
    if kind not in NETWORK and not kind.startswith(NETWORK_FUSE):
        return []
    return [
        Error(
            f"The SQLite database {told['NAME']} is on a network file system ({kind}). Its locks "
            "do not hold there, and what is measured may be lost.",
            hint="Set THROUGHLINE_VAR to a folder on a local disk, or DATABASE_URL to PostgreSQL.",
            id="throughline.E001",
        )
    ]


def file_system(path: Path, mounts: Path) -> str:
    """The kind of file system that ``path`` is on; empty where nobody can tell."""
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return ""  # not Linux
    real = os.path.realpath(path)
    found, kind = "", ""
    for line in lines:
        words = line.split()
        if len(words) < 3:
            continue
        point = words[1].replace("\\040", " ").rstrip("/")
        # of two mounts on one folder the later one is seen
        if (real + "/").startswith(point + "/") and len(point) >= len(found):
            found, kind = point, words[2]
    return kind
