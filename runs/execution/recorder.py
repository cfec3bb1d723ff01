"""Stores what arrives of a log, exactly once: bytes, records and position in one transaction."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from hosts.nodekit.failpoints import failpoint
from runs.engines.redact import redact
from runs.live import announce
from runs.models import Event, LogChunk, LogStream


class Reader(Protocol):
    """An incremental reader: bytes in, records out."""

    def feed(self, data: bytes) -> Sequence[Any]: ...

    def finish(self) -> Sequence[Any]: ...


Store = Callable[[LogStream, Sequence[Any], float], None]


class Overtaken(Exception):
    """Somebody else stored these bytes: the claim on the run has passed on."""


class Recorder:
    """One stream's writer. ``feed`` only collects; ``flush`` stores whole lines.

    What was collected but not stored is forgotten by ``rewind`` and read again from ``position``:
    nothing half-read is ever remembered.
    """

    def __init__(self, stream: LogStream, reader: Callable[[int, int], Reader], store: Store):
        self.stream = stream
        self._make_reader = reader
        self._reader = reader(stream.position, stream.lines)
        self._store = store
        self._pending = b""
        # A hash cannot be stored half-way and gone on with: each recorder has a range of its own.
        self._earlier = list(stream.hashed)
        self._begun = stream.position
        self._hash = hashlib.sha256()

    @property
    def position(self) -> int:
        return self.stream.position

    @property
    def pending(self) -> int:
        return len(self._pending)

    def feed(self, data: bytes) -> None:
        self._pending += data

    def rewind(self) -> None:
        """Forget what is not stored; reading goes on from ``position``."""
        self._pending = b""
        self._reader = self._make_reader(self.stream.position, self.stream.lines)

    def flush(self, *, final: bool = False) -> None:
        """Store all whole lines (``final``: everything, since the file has ended)."""
        while self._pending:
            cut = self._pending.rfind(b"\n", 0, LogChunk.LIMIT) + 1
            if cut == 0 and (final or len(self._pending) >= LogChunk.LIMIT):
                cut = min(len(self._pending), LogChunk.LIMIT)
            if cut == 0:
                return
            data, self._pending = self._pending[:cut], self._pending[cut:]
            self._commit(data, last=final and not self._pending)

    def _commit(self, data: bytes, *, last: bool) -> None:
        clean, secrets = redact(data)
        records = [*self._reader.feed(clean), *(self._reader.finish() if last else ())]
        seen = self._hash.copy()  # a commit that fails must leave no trace in it
        seen.update(data)
        failpoint("record.begin")
        with transaction.atomic():
            self._advance(len(data), data.count(b"\n"), secrets, seen.hexdigest())
            LogChunk.of(self.stream, self.stream.position, clean).save(force_insert=True)
            self._store(self.stream, records, time.time())
            if self.stream.drop_middle(self.stream.position + len(data)):
                _note_dropped(self.stream)
            failpoint("record.before-commit")
        failpoint("record.committed")
        self._hash = seen
        self.stream.refresh_from_db()
        announce(self.stream.attempt.run_id, self.stream.role)

    def _advance(self, length: int, lines: int, secrets: int, sha256: str) -> None:
        end = self.stream.position + length
        seen = LogStream.objects.filter(pk=self.stream.pk, position=self.stream.position)
        moved = seen.update(
            position=F("position") + length,
            lines=F("lines") + lines,
            redacted=F("redacted") + secrets,
            hashed=[*self._earlier, [self._begun, end, sha256]],
            sha256="" if self._begun else sha256,
            read_at=Now(),
        )
        if moved != 1:
            raise Overtaken(f"{self.stream} has moved from {self.stream.position}")


def _note_dropped(stream: LogStream) -> None:
    """Told once: from here on the middle of the text is given up as it grows."""
    half = LogStream.TEXT_LIMIT / 2 / 2**20
    Event.objects.create(
        run_id=stream.attempt.run_id,
        attempt=stream.attempt,
        kind="text-dropped",
        at=timezone.now(),
        text=f"The {stream.get_role_display()} is very long: of its text the first and the last "
        f"{half:,.0f} MiB are kept, of the lines between them the samples and events.",
        actor="recorder",
    )
