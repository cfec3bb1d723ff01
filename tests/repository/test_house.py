"""Habits of the house that a machine can check."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.repository.places import PACKAGES, ROOT, python_files

LONGEST_FILE = 400  # lines; when one grows, look for the noun hiding in it

# Written in pieces, so that this file does not break its own rule.
HOSTS_OF_REGISTRIES = [
    "pypi" + ".org",
    "python" + "hosted.org",
    "registry.npm" + "js",
    "debian" + ".org",
]
TEXT = {".py", ".md", ".html", ".css", ".js", ".txt", ".in", ".toml", ".yml", ".sh", ".json", ""}


@cache
def texts() -> list[Path]:
    """Files of the repository that people write: those git knows or would add."""
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split("\0")
    paths = [ROOT / name for name in listed if name and not name.startswith("static/vendor/")]
    return [path for path in paths if path.suffix in TEXT and path.is_file()]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_file_has_grown_too_long(package: str) -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in python_files(package)
        if "migrations" not in path.parts
        and (lines := len(path.read_text().splitlines())) > LONGEST_FILE
    }
    assert long == {}


def test_no_file_names_the_host_of_a_package_registry() -> None:
    named = [
        f"{path.relative_to(ROOT)}: {host}"
        for path in texts()
        for host in HOSTS_OF_REGISTRIES
        if host in path.read_text(errors="replace")
    ]
    assert named == []


def test_every_variable_the_settings_read_is_documented() -> None:
    """docs/operations.md lists them all."""
    source = "".join((ROOT / "webapp" / name).read_text() for name in ("settings.py", "celery.py"))
    read = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', source))
    read |= set(re.findall(r'environ(?:\.get\(|\[)\s*"([A-Z_]+)"', source))
    documented = (ROOT / "docs" / "operations.md").read_text()
    assert read
    assert [name for name in sorted(read) if name not in documented] == []


def test_every_door_of_the_makefile_says_what_it_is() -> None:
    makefile = (ROOT / "Makefile").read_text()
    doors = re.findall(r"^([a-z][a-z-]*):(.*)$", makefile, flags=re.M)
    assert {"help", "demo", "check", "test", "test-postgres", "lock", "vendor"} <= {
        n for n, _ in doors
    }
    assert [name for name, rest in doors if " ## " not in rest] == []


@pytest.mark.parametrize("script", [".ci/run", "scripts/postgres.sh"])
def test_a_bash_script_is_well_formed(script: str) -> None:
    subprocess.run(["bash", "-n", ROOT / script], check=True)


@pytest.mark.parametrize("script", ["scripts/venv.sh", "scripts/tools.sh"])
def test_a_shell_script_is_well_formed(script: str) -> None:
    subprocess.run(["sh", "-n", ROOT / script], check=True)


def test_every_required_test_file_is_there() -> None:
    lines = (ROOT / "tests" / "repository" / "required_tests.txt").read_text().splitlines()
    names = [line for line in lines if line and not line.startswith("#")]
    assert names
    assert [name for name in names if not (ROOT / name).is_file()] == []
