"""Run folders are removed by name, and nothing else is."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from tests.hosts.nodekit.conftest import Node


def left(node: Node, name: str) -> Path:
    folder = node.root / "runs" / name / "1/server"
    folder.mkdir(parents=True)
    (folder / "server.log").write_bytes(b"x" * 10_000)
    (folder / "alive.lock").touch()
    return folder


def test_what_nothing_lives_of_is_removed_and_told(node: Node, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    old, living, other = (left(node, name) for name in ("old", "living", "other"))
    (old / "way-out").symlink_to(elsewhere)
    (node.root / "runs/link").symlink_to(elsewhere)
    cut_short = node.root / "runs/.going-old"
    cut_short.mkdir()
    lock = os.open(living / "alive.lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        told = node.call("remove", {"runs": ["old", "living", "link", "never"]})
    finally:
        os.close(lock)
    assert told["removed"] == ["old"] and told["bytes"] >= 10_000
    assert (told["alive"], told["absent"]) == (["living"], ["link", "never"])
    assert sorted(path.name for path in (node.root / "runs").iterdir()) == [
        "link", "living", "other",
    ]  # fmt: skip
    assert (elsewhere / "kept").exists() and other.exists()


def test_what_was_cut_short_is_finished(node: Node) -> None:
    left(node, ".going-old")
    told = node.call("remove", {"runs": ["old"]})
    assert (told["removed"], told["absent"]) == (["old"], []) and told["bytes"] >= 10_000
    assert not list((node.root / "runs").iterdir())


@pytest.mark.parametrize("name", ["..", "a/b", ".going-old", "", 7])
def test_a_name_that_leads_elsewhere_is_refused(node: Node, name: object) -> None:
    status, told = node.ask("remove", {"runs": [name]})
    assert (status, told["error"]["code"]) == (2, "bad-request")
