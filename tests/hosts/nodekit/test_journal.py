"""The journal read exactly once, by a journalctl that misbehaves on demand."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from hosts.nodekit.journal import DROPPED, Journal, parse_export
from tests.hosts.nodekit.test_logfile import Copy

ID = "0123456789abcdef0123456789abcdef"
# Reads entries from a file; its flaws are those of journalctl's history.
JOURNALCTL = """#!/usr/bin/env python3
import json, os, struct, sys
entries = json.load(open(os.environ["FAKE_JOURNAL"]))
cursor = [a[9:] for a in sys.argv if a.startswith("--cursor=")]
wanted = [a.split("=")[1] for a in sys.argv if a.startswith("_SYSTEMD_INVOCATION_ID=")]
assert wanted and "--all" in sys.argv
entries = [e for e in entries if e["_SYSTEMD_INVOCATION_ID"] in wanted]
if cursor:
    at = [i for i, e in enumerate(entries) if e["__CURSOR"] == cursor[0]]
    # a cursor that is gone: the nearest entry, without a word (here the next in time)
    moment = int(cursor[0].split(";")[1])
    near = [i for i, e in enumerate(entries) if int(e["__MONOTONIC_TIMESTAMP"]) >= moment]
    start = at[0] if at else near[0] if near else len(entries)
    start += int(os.environ.get("FAKE_SKIPS", "0"))
    entries = entries[start:]
for entry in entries:
    for name, value in entry.items():
        data = value.encode("latin-1")
        if name == "MESSAGE":
            sys.stdout.buffer.write(b"MESSAGE\\n" + struct.pack("<Q", len(data)) + data + b"\\n")
        else:
            sys.stdout.buffer.write(name.encode() + b"=" + data + b"\\n")
    sys.stdout.buffer.write(b"\\n")
"""


class Fake:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[dict[str, str]] = []

    def add(self, message: str, *, moment: int | None = None, **more: str) -> None:
        moment = moment if moment is not None else 1000 + len(self.entries)
        entry = {
            "__CURSOR": f"i={len(self.entries)};{moment}",
            "__MONOTONIC_TIMESTAMP": str(moment),
            "_BOOT_ID": "b" * 32,
            "_SYSTEMD_INVOCATION_ID": ID,
            "MESSAGE": message,
        }
        self.entries.append(entry | more)
        self.write()

    def write(self) -> None:
        self.path.write_text(json.dumps(self.entries))


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    program = tmp_path / "bin" / "journalctl"
    program.parent.mkdir()
    program.write_text(JOURNALCTL)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_JOURNAL", str(tmp_path / "journal.json"))
    made = Fake(tmp_path / "journal.json")
    made.write()
    return made


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    made = Copy(tmp_path / "spool")
    yield made
    os.close(made.fd)


def test_every_message_once_and_as_it_was(fake: Fake, copy: Copy) -> None:
    journal = Journal(copy.spool)
    assert not journal.read([ID])
    fake.add("first")
    fake.add("caf\xc3\xa9 \xff\x00 = two\nlines")
    assert journal.read([ID])
    assert not journal.read([ID])
    fake.add("cut ", _LINE_BREAK="line-max")
    fake.add("in two")
    fake.add("another start's", _SYSTEMD_INVOCATION_ID="f" * 32)
    journal.read([ID])
    expected = b"first\ncaf\xc3\xa9 \xff\x00 = two\nlines\ncut in two\n"
    assert copy.path.read_bytes() == expected


def test_f45_suppressed_messages_are_a_gap_with_their_number(fake: Fake, copy: Copy) -> None:
    journal = Journal(copy.spool)
    fake.add("before")
    fake.add("Suppressed 532 messages from x", MESSAGE_ID=DROPPED.decode(), N_DROPPED="532")
    fake.add("after")
    journal.read([ID])
    journal.read([ID])
    assert copy.lines() == [b"before", b"after"]
    (mark,) = copy.marks()
    assert (mark["kind"], mark["why"], mark["count"]) == ("gap", "suppressed", 532)


def test_f46_a_vacuumed_cursor_is_a_gap_and_nothing_comes_twice(fake: Fake, copy: Copy) -> None:
    journal = Journal(copy.spool)
    for i in range(3):
        fake.add(f"line {i}")
    journal.read([ID])
    fake.add("lost too")
    fake.add("line 4")
    del fake.entries[:4]
    fake.write()
    journal.read([ID])
    journal.read([ID])
    assert copy.lines() == [b"line 0", b"line 1", b"line 2", b"line 4"]
    assert [mark["why"] for mark in copy.marks()] == ["vacuumed"]


def test_f46_a_journal_that_is_emptied_is_one_gap(fake: Fake, copy: Copy) -> None:
    journal = Journal(copy.spool)
    fake.add("line 0")
    journal.read([ID])
    kept, fake.entries = fake.entries, []
    fake.write()
    for _ in range(3):
        journal.read([ID])
    assert len(copy.marks()) == 1
    fake.entries = [*kept, {**kept[0], "__CURSOR": "i=9;2000", "MESSAGE": "line 1",
                            "__MONOTONIC_TIMESTAMP": "2000"}]  # fmt: skip
    fake.write()
    journal.read([ID])
    assert copy.lines() == [b"line 0", b"line 1"]


def test_f46_a_seek_that_skips_an_entry_loses_none(
    fake: Fake, copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one release of journalctl did: then the entry is still there, and there is no gap."""
    journal = Journal(copy.spool)
    fake.add("line 0")
    fake.add("line 1")
    journal.read([ID])
    monkeypatch.setenv("FAKE_SKIPS", "1")
    for i in (2, 3):
        fake.add(f"line {i}")
    journal.read([ID])
    assert copy.lines() == [b"line 0", b"line 1", b"line 2", b"line 3"]
    assert copy.marks() == []


def test_f46_equal_times_are_told_apart(fake: Fake, copy: Copy) -> None:
    journal = Journal(copy.spool)
    for i in range(3):
        fake.add(f"line {i}", moment=1000)
    journal.read([ID])
    for entry in fake.entries:
        entry["__CURSOR"] += ";moved"  # a clock that stepped back, a file that was rewritten
    fake.add("line 3", moment=1000)
    journal.read([ID])
    assert copy.lines() == [b"line 0", b"line 1", b"line 2", b"line 3"]
    assert copy.marks() == []


@pytest.mark.parametrize("cut", [9, 20, 30])
def test_an_entry_cut_off_in_the_middle_is_no_entry(cut: int) -> None:
    whole = b"MESSAGE\n" + struct.pack("<Q", 5) + b"a\nb=c\n__CURSOR=x\n\n"
    assert list(parse_export(BytesIO(whole))) == [{"MESSAGE": b"a\nb=c", "__CURSOR": b"x"}]
    found: list[Any] = list(parse_export(BytesIO(whole[:cut])))
    assert found == []
