"""What is refused before anything starts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.checks import run_checks

from webapp import checks

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/export /srv/shared nfs4 rw 0 0
/dev/sdb1 /srv/shared/local xfs rw 0 0
me@there:/ /home/me/far\\040away fuse.sshfs rw 0 0
"""


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    monkeypatch.setattr(checks, "MOUNTS", mounts)

    def found(name: str, engine: str = "django.db.backends.sqlite3") -> list[str]:
        told = SimpleNamespace(DATABASES={"default": {"ENGINE": engine, "NAME": name}})
        monkeypatch.setattr(checks, "settings", told)
        return [each.msg for each in checks.database_is_on_a_local_disk()]

    return found


@pytest.mark.parametrize(
    "name", ["/srv/shared/var/throughline.sqlite3", "/home/me/far away/throughline.sqlite3"]
)
def test_f23_sqlite_on_a_network_file_system_is_refused(at: Any, name: str) -> None:
    (said,) = at(name)
    assert "is on a network file system" in said


@pytest.mark.parametrize(
    "name", ["/srv/shared/local/throughline.sqlite3", "/srv/sharedelse/x", "/var/lib/x.sqlite3"]
)
def test_f23_a_local_disk_is_fine(at: Any, name: str) -> None:
    assert at(name) == []


def test_f23_it_matters_to_sqlite_only(at: Any) -> None:
    assert at("/srv/shared/x", engine="django.db.backends.postgresql") == []


def test_f23_the_check_is_made_by_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "file_system", lambda *_: "nfs4")
    told = {"ENGINE": "django.db.backends.sqlite3", "NAME": "x"}
    monkeypatch.setattr(checks, "settings", SimpleNamespace(DATABASES={"default": told}))
    assert "throughline.E001" in {each.id for each in run_checks()}
