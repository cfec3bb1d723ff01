"""The zipapp itself: always the same bytes, and fit for an old Python."""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hosts import kit

SOURCES = sorted(kit.SOURCE.rglob("*.py"))


def test_two_builds_are_byte_equal_whenever_the_files_were_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "nodekit"
    shutil.copytree(kit.SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for path in copy.rglob("*"):
        os.utime(path, (1e9, 1e9))
    first = kit.build()
    monkeypatch.setattr(kit, "SOURCE", copy)
    kit.build.cache_clear()
    second = kit.build()
    kit.build.cache_clear()
    assert first == second
    assert first.sha256 == hashlib.sha256(first.data).hexdigest()
    assert first.name == f"kit-{first.sha256[:16]}.pyz"


def test_it_runs_isolated_from_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "a b.pyz"
    path.write_bytes(kit.build().data)
    env = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-I", str(path), "facts"],
        input=b"{}", capture_output=True, cwd="/", env=env, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_python_3_8_can_read_it(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 8))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_it_imports_nothing_but_itself_and_the_standard_library(path: Path) -> None:
    for statement in ast.walk(ast.parse(path.read_text())):
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0:
            names = [statement.module or ""]
        else:
            continue
        assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names
