"""Texts that wait to be confirmed: private, and gone after a day."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from runs import pending
from tests.factories import make_person

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_folder(settings: object, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path  # type: ignore[attr-defined]


def test_only_its_owner_may_read_the_file(tmp_path: Path) -> None:
    pending.keep([("a.log", [b"log"])], make_person())
    (file,) = (tmp_path / "pending").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_it_comes_back_whole_with_its_name() -> None:
    kept = pending.keep([("ä.log", [b"\x00\xff", b" log"]), ("b.json", [b"{}"])], make_person())
    again = pending.take(kept.ticket, make_person())
    assert again is not None
    told = [(source.name, source.path.read_bytes()) for source in again.sources]
    assert told == [("ä.log", b"\x00\xff log"), ("b.json", b"{}")]
    assert again.size == 8


def test_what_nobody_came_back_for_is_dropped(tmp_path: Path) -> None:
    kept = pending.keep([("old.log", [b"old"])], make_person())
    (file,) = (tmp_path / "pending").iterdir()
    long_ago = time.time() - pending.KEPT_S - 1
    os.utime(file, (long_ago, long_ago))
    pending.keep([("new.log", [b"new"])], make_person())
    assert pending.take(kept.ticket, make_person()) is None


def test_dropping_twice_is_dropping_once() -> None:
    kept = pending.keep([("a.log", [b"log"])], make_person())
    pending.drop(kept)
    pending.drop(kept)
    assert pending.take(kept.ticket, make_person()) is None
