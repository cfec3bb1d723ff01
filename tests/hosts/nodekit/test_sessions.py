"""Whether logind ends what a login leaves running, by what it says of itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hosts.nodekit import sessions
from hosts.nodekit.units import user


@pytest.mark.parametrize(
    ("said", "kills"),
    [
        ('b false\nas 1 "root"\nas 0\n', False),
        ('b true\nas 1 "nobody"\nas 0\n', True),
        ('b true\nas 2 "nobody" "USER"\nas 0\n', False),
        ('b true\nas 0\nas 1 "nobody"\n', False),
        ('b true\nas 0\nas 2 "nobody" "USER"\n', True),
        ("b true\n", None),
        ("", None),
    ],
)
def test_f65_who_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, kills: bool | None
) -> None:
    (tmp_path / "said").write_text(said.replace("USER", user()))
    (tmp_path / "busctl").write_text(f"#!/bin/sh\ncat {tmp_path}/said\n")
    (tmp_path / "busctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert sessions.kills_what_we_leave() is kills


def test_f65_a_node_without_logind_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert sessions.kills_what_we_leave() is None
