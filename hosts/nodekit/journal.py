"""A unit's messages out of the journal, each once, in order, with every gap told.

Read by repeated short looks instead of one long `journalctl -f`: each look begins *at* the last
entry known and so proves that it is still there. A cursor is no proof by itself, since a seek to
one that is gone lands at its neighbour without a word.
"""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
from collections import deque
from dataclasses import dataclass
from typing import IO, Deque, Dict, Iterator, List, Optional, Sequence, Tuple

from .errors import KitError
from .spool import Spool
from .units import QUIET

FIELDS = "MESSAGE,MESSAGE_ID,N_DROPPED,_LINE_BREAK,_SYSTEMD_INVOCATION_ID"
DROPPED = b"a596d6fe7bfa4994828e72309e95d61e"  # journald's own id of "Suppressed N messages"
REMEMBERED = 2000  # entries of one microsecond, to tell the known from the new
BATCH_BYTES = 64 * 1024

Key = Tuple[bytes, int, str]  # boot, microseconds since it, hash of the message


@dataclass(frozen=True)
class Entry:
    """One entry of the journal; ``message`` is exactly what was written, without its line end."""

    cursor: str
    key: Key
    message: bytes
    dropped: Optional[int]
    continues: bool  # journald cut a long line here

    @classmethod
    def of(cls, fields: Dict[str, bytes]) -> "Entry":
        message = fields.get("MESSAGE", b"")
        boot = fields.get("_BOOT_ID", b"")
        moment = int(fields.get("__MONOTONIC_TIMESTAMP", b"0"))
        dropped = None
        if fields.get("MESSAGE_ID") == DROPPED:
            dropped = int(fields.get("N_DROPPED", b"0"))
        return cls(
            fields.get("__CURSOR", b"").decode("ascii", "replace"),
            (boot, moment, hashlib.sha256(message).hexdigest()),
            message,
            dropped,
            fields.get("_LINE_BREAK") == b"line-max",
        )


class Journal:
    """Copies the messages of the given invocations into the spool."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._last: Optional[Entry] = None
        self._recent: Deque[Key] = deque(maxlen=REMEMBERED)
        self._told_lost = False
        self.messages = 0
        self.suppressed = 0

    def skip(self, invocations: Sequence[str]) -> None:
        """Begin behind what there is by now."""
        for entry in _look(invocations, None):
            self._last = entry
            self._recent.append(entry.key)

    def read(self, invocations: Sequence[str]) -> bool:
        """Everything new by now; whether there was something."""
        if not invocations:
            return False
        before = self.messages + self.suppressed
        entries = _look(invocations, self._last.cursor if self._last else None)
        try:
            if self._last is None:
                self._take(entries)
            elif self._found_again(next(entries, None)):
                self._take(entries)
                self._told_lost = False
            else:
                self._resume(invocations)
        finally:
            entries.close()  # type: ignore[attr-defined]
        return self.messages + self.suppressed > before

    def _found_again(self, first: Optional[Entry]) -> bool:
        return first is not None and self._last is not None and first.key == self._last.key

    def _resume(self, invocations: Sequence[str]) -> None:
        """The last entry was not where its cursor points: go by time, and say what that means."""
        assert self._last is not None
        boot, moment, _ = self._last.key
        known = set(self._recent)
        still_there = False
        new = []
        for entry in _look(invocations, None):
            still_there = still_there or entry.key == self._last.key
            same_boot = entry.key[0] == boot
            if entry.key not in known and not (same_boot and entry.key[1] < moment):
                new.append(entry)
        if not still_there and not self._told_lost:
            text = "The journal no longer holds the entry read last; lines may be missing here."
            self._spool.mark("gap", text, why="vacuumed", count=None)
            self._told_lost = True
        self._take(iter(new))

    def _take(self, entries: Iterator[Entry]) -> None:
        batch: List[bytes] = []
        size = 0
        for entry in entries:
            if entry.dropped is not None:
                self._spool.lines(b"".join(batch))
                batch, size = [], 0
                self._suppressed(entry)
            else:
                batch.append(entry.message if entry.continues else entry.message + b"\n")
                size += len(batch[-1])
                self.messages += 1
            self._last = entry
            self._recent.append(entry.key)
            if size > BATCH_BYTES:
                self._spool.lines(b"".join(batch))
                batch, size = [], 0
        self._spool.lines(b"".join(batch))

    def _suppressed(self, entry: Entry) -> None:
        count = entry.dropped or 0
        self.suppressed += count
        text = (
            "journald suppressed {} messages here: the unit writes faster than it allows.".format(
                count
            )
        )
        self._spool.mark("gap", text, why="suppressed", count=count)


def _look(invocations: Sequence[str], cursor: Optional[str]) -> Iterator[Entry]:
    words = ["journalctl", "--no-pager", "--quiet", "--all", "-o", "export"]
    words.append("--output-fields=" + FIELDS)
    if cursor is not None:
        words.append("--cursor=" + cursor)
    words += ["_SYSTEMD_INVOCATION_ID=" + each for each in invocations]
    words.append("+")
    words += ["OBJECT_SYSTEMD_INVOCATION_ID=" + each for each in invocations]
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, **QUIET},
        )  # fmt: skip
    except FileNotFoundError:
        raise KitError("no-systemd", "There is no journalctl on this node.") from None
    assert process.stdout is not None
    try:
        for fields in parse_export(process.stdout):
            yield Entry.of(fields)
    finally:
        process.stdout.close()
        process.kill()
        process.wait()


def parse_export(stream: IO[bytes]) -> Iterator[Dict[str, bytes]]:
    """Entries of the journal's export format: NAME=value, or NAME, length and raw bytes."""
    fields: Dict[str, bytes] = {}
    for line in stream:
        line = line[:-1]
        if not line:
            if fields:
                yield fields
            fields = {}
            continue
        name, equals, value = line.partition(b"=")
        if not equals:
            size = stream.read(8)
            if len(size) < 8:
                return  # cut off in the middle of an entry: it comes again with the next look
            value = stream.read(struct.unpack("<Q", size)[0])
            stream.read(1)
        fields[name.decode("ascii", "replace")] = value
