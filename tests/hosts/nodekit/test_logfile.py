"""Logs that somebody else writes: rotated, cut, given another number's file, and never blocking."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hosts.nodekit import logfile
from hosts.nodekit.errors import KitError
from hosts.nodekit.logfile import LogFile
from hosts.nodekit.spool import MARK, Spool


class Copy:
    """A spool on a file, and what stands in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.spool = Spool(self.fd)

    def lines(self) -> list[bytes]:
        return [line for line in self.all() if not line.startswith(MARK)]

    def marks(self) -> list[dict[str, Any]]:
        return [json.loads(line[len(MARK) :]) for line in self.all() if line.startswith(MARK)]

    def all(self) -> list[bytes]:
        return self.path.read_bytes().splitlines()


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    made = Copy(tmp_path / "spool")
    yield made
    os.close(made.fd)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logfile, "QUIET_S", 0.0)


def numbered(first: int, last: int) -> bytes:
    return b"".join(b"line %d\n" % i for i in range(first, last + 1))


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_f43_what_stood_there_before_is_not_counted(tmp_path: Path, copy: Copy) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(numbered(1, 100) + b"half a li")
    source = LogFile(str(log), copy.spool, skip=True)
    assert not source.read()
    append(log, b"ne\n" + numbered(101, 103))
    source.read()
    assert copy.all() == numbered(101, 103).splitlines()


def test_from_the_beginning_is_a_choice(tmp_path: Path, copy: Copy) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(numbered(1, 3))
    LogFile(str(log), copy.spool, skip=False).read()
    assert copy.all() == numbered(1, 3).splitlines()


def test_f41_a_renamed_log_is_finished_before_the_new_one_begins(
    tmp_path: Path, copy: Copy
) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(numbered(1, 5))
    source = LogFile(str(log), copy.spool, skip=False)
    source.read()
    with log.open("ab") as writer:
        log.rename(tmp_path / "server.log.1")
        writer.write(numbered(6, 8))  # it has not noticed
        writer.flush()
        source.read()  # and the new file is not there yet
        log.write_bytes(numbered(9, 10))
        source.read()
        writer.write(b"a straggler\n")
        writer.flush()
        source.read()
    append(log, numbered(11, 12))
    source.read()
    assert [mark["kind"] for mark in copy.marks()] == ["rotated", "late"]
    expected = numbered(1, 10) + b"a straggler\n" + numbered(11, 12)
    assert sorted(copy.lines()) == sorted(expected.splitlines())
    assert copy.lines()[:10] == numbered(1, 10).splitlines()
    assert copy.spool.gaps == 0


def test_f41_a_writer_that_keeps_the_renamed_file_is_waited_for(
    tmp_path: Path, copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logfile, "QUIET_S", 60.0)
    log = tmp_path / "server.log"
    log.write_bytes(numbered(1, 2))
    source = LogFile(str(log), copy.spool, skip=False)
    source.read()
    log.rename(tmp_path / "server.log.1")
    log.write_bytes(numbered(5, 6))
    append(tmp_path / "server.log.1", numbered(3, 4))
    source.read()
    assert copy.lines() == numbered(1, 4).splitlines()
    source.read(last=True)
    assert copy.lines() == numbered(1, 6).splitlines()


def test_f42_a_truncated_log_is_a_gap_of_unknown_size(tmp_path: Path, copy: Copy) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(numbered(1, 50))
    source = LogFile(str(log), copy.spool, skip=False)
    source.read()
    os.truncate(log, 0)
    append(log, numbered(51, 52))
    source.read()
    (mark,) = copy.marks()
    assert (mark["kind"], mark["why"], mark["count"]) == ("gap", "truncated", None)
    assert mark["read"] == len(numbered(1, 50))
    assert copy.lines() == numbered(1, 52).splitlines()


def test_f42_a_log_cut_and_written_beyond_where_it_was_read_is_found_by_its_head(
    tmp_path: Path, copy: Copy
) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(numbered(1, 3))
    source = LogFile(str(log), copy.spool, skip=False)
    source.read()
    os.truncate(log, 0)
    append(log, numbered(100, 900))
    source.read()
    assert [mark["why"] for mark in copy.marks()] == ["truncated"]
    assert copy.lines() == (numbered(1, 3) + numbered(100, 900)).splitlines()


def test_f44_a_deleted_logs_number_is_not_taken_for_the_log(tmp_path: Path, copy: Copy) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(numbered(1, 3))
    source = LogFile(str(log), copy.spool, skip=False)
    source.read()
    log.unlink()
    log.write_bytes(numbered(4, 900))  # some file systems give the same number again
    source.read()
    assert copy.lines() == numbered(1, 900).splitlines()
    assert [mark["kind"] for mark in copy.marks()] == ["rotated"]


def test_f83_only_regular_files_are_read(tmp_path: Path, copy: Copy) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "real").write_bytes(numbered(1, 1))
    (tmp_path / "link").symlink_to("real")
    for wrong in ("fifo", ".", "missing"):
        with pytest.raises(KitError) as refused:
            LogFile(str(tmp_path / wrong), copy.spool, skip=False)
        assert refused.value.code == "bad-log"
    for wrong in ("/dev/null", "relative.log"):
        with pytest.raises(KitError):
            LogFile(wrong, copy.spool, skip=False)
    LogFile(str(tmp_path / "link"), copy.spool, skip=False).read()
    assert copy.all() == [b"line 1"]


def test_nobody_else_makes_marks(copy: Copy) -> None:
    forged = MARK + b'{"kind": "gap", "text": "x"}\n'
    copy.spool.lines(forged + b"a\n" + forged)
    copy.spool.lines(b"half")
    copy.spool.mark("gap", "real", count=3)
    assert copy.marks() == [{"kind": "gap", "text": "real", "count": 3}]
    assert copy.all()[-2] == b"half"
