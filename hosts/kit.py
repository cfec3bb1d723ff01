"""Build the node kit: the package `hosts.nodekit` as one zipapp of always the same bytes."""

from __future__ import annotations

import hashlib
import io
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parent / "nodekit"
SHIPPED = frozenset({".py", ".txt"})
# The oldest time a zip can hold: a checkout's file times must not change the bytes.
LONG_AGO = (1980, 1, 1, 0, 0, 0)
MAIN = b"import sys\n\nfrom nodekit.cli import main\n\nsys.exit(main(sys.argv[1:]))\n"


@dataclass(frozen=True)
class Kit:
    data: bytes
    sha256: str
    name: str  # names its content, so a node may keep several versions side by side


@cache
def build() -> Kit:
    data = _archive()
    sha256 = hashlib.sha256(data).hexdigest()
    return Kit(data=data, sha256=sha256, name=f"kit-{sha256[:16]}.pyz")


def _archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _add(archive, "__main__.py", MAIN)
        for path in sorted(SOURCE.rglob("*")):
            if path.suffix in SHIPPED and path.name != "__main__.py":
                _add(archive, f"nodekit/{path.relative_to(SOURCE).as_posix()}", path.read_bytes())
    return buffer.getvalue()


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, LONG_AGO)
    entry.external_attr = 0o644 << 16
    entry.create_system = 3  # the same on whatever machine builds it
    # Stored, not deflated: another zlib would make other bytes of it.
    archive.writestr(entry, data, zipfile.ZIP_STORED)
