"""Copy the front-end files we ship from their npm packages into static/vendor.

    python scripts/vendor.py            fetch (npm ci) and write static/vendor
    python scripts/vendor.py --check    fetch and compare, change nothing

Versions and checksums of the packages are held by scripts/vendor_lock/package-lock.json; what was
copied is written to static/vendor/VERSIONS and SHA256SUMS, which a test compares. The pages load
nothing from elsewhere, and nobody but who changes a version needs node.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "scripts" / "vendor_lock"
TARGET = ROOT / "static" / "vendor"

# (package, file in it, name here). htmx and its SSE extension come with django-htmx.
FILES = [
    ("uplot", "dist/uPlot.iife.min.js", "uplot.min.js"),
    ("uplot", "dist/uPlot.min.css", "uplot.min.css"),
    ("uplot", "LICENSE", "LICENSE-uplot.txt"),
    ("plotly.js-basic-dist-min", "plotly-basic.min.js", "plotly-basic.min.js"),
    (
        "@fontsource-variable/ibm-plex-sans",
        "files/ibm-plex-sans-latin-wght-normal.woff2",
        "ibm-plex-sans-latin-wght-normal.woff2",
    ),
    (
        "@fontsource/ibm-plex-mono",
        "files/ibm-plex-mono-latin-400-normal.woff2",
        "ibm-plex-mono-latin-400-normal.woff2",
    ),
    (
        "@fontsource/ibm-plex-mono",
        "files/ibm-plex-mono-latin-600-normal.woff2",
        "ibm-plex-mono-latin-600-normal.woff2",
    ),
    ("@fontsource-variable/ibm-plex-sans", "LICENSE", "LICENSE-ibm-plex.txt"),
]

# We ship no source maps, so a file must not point at one.
SOURCE_MAP = re.compile(rb"\n?/\*# sourceMappingURL=[^*]*\*/")


def fetch(folder: Path) -> Path:
    """Install exactly the locked packages, running none of their scripts."""
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(LOCK / name, folder / name)
    subprocess.run(["npm", "ci", "--ignore-scripts", "--silent"], cwd=folder, check=True)
    return folder / "node_modules"


def copy(modules: Path, target: Path) -> None:
    """Write the listed files, VERSIONS and SHA256SUMS into ``target``."""
    for package, source, name in FILES:
        data = (modules / package / source).read_bytes()
        if name.endswith(".css"):
            data = SOURCE_MAP.sub(b"", data)
        (target / name).write_bytes(data)
    (target / "VERSIONS").write_text(versions(modules))
    (target / "SHA256SUMS").write_text(checksums(target))


def versions(modules: Path) -> str:
    """One line for each package: name, version, licence."""
    lines = []
    for package in sorted({package for package, _, _ in FILES}):
        about = json.loads((modules / package / "package.json").read_text())
        lines.append(f"{package} {about['version']} {about['license']}\n")
    return "".join(lines)


def checksums(target: Path) -> str:
    """The form ``sha256sum -c`` reads, sorted by name."""
    return "".join(
        f"{hashlib.sha256((target / name).read_bytes()).hexdigest()}  {name}\n"
        for name in sorted(name for _, _, name in FILES)
    )


def differences(fresh: Path, kept: Path) -> list[str]:
    """Names of files that differ, are missing or too many."""
    names = {path.name for folder in (fresh, kept) for path in folder.iterdir()}
    return sorted(name for name in names if _bytes(fresh / name) != _bytes(kept / name))


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, change nothing")
    check = parser.parse_args(arguments).check
    with tempfile.TemporaryDirectory() as scratch:
        modules = fetch(Path(scratch))
        fresh = Path(scratch) / "fresh"
        fresh.mkdir()
        copy(modules, fresh)
        changed = differences(fresh, TARGET)
        for name in changed:
            print(f"{'differs' if check else 'written'}: {name}")
        if not check:
            shutil.copytree(fresh, TARGET, dirs_exist_ok=True)
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
