"""Texts on disk: read whatever their size, and stored whole, redacted and compressed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from runs.engines.base import Damaged
from runs.engines.redact import redact
from runs.models import LogChunk, LogStream
from runs.readers.broken import MOST, json_problem
from runs.readers.reading import Reading
from runs.readers.text import read, read_file

# A longer log is stored piece by piece: reading one of this size takes about 200 MB of memory.
LARGE = 32 * 2**20
PASTED = "pasted text"  # the name of a text that came without a file
BLOCK = 16 * LogChunk.LIMIT  # bytes that are read and stored at once


@dataclass(frozen=True)
class Source:
    """A text as a file. ``name`` is what people called it; the path may be called otherwise."""

    name: str
    path: Path

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    @property
    def is_large(self) -> bool:
        return self.size > LARGE

    def json_problem(self) -> Damaged | None:
        """Why it is no JSON, if it begins like some."""
        return json_problem(self.path.read_bytes()) if self.size <= MOST else None


def read_source(source: Source) -> Reading:
    """Read a text; of a large one only so many records are kept. Raises OSError."""
    if source.is_large:
        return replace(read_file(source.path), name=source.name)
    return read(source.path.read_bytes(), source.name)


def read_beginning(source: Source, most: int) -> Reading:
    """Read whole lines of the first ``most`` bytes. A JSON document is told by its whole only."""
    with source.path.open("rb") as file:
        head = file.read(most)
    if len(head) == source.size:
        return read(head, source.name)
    return read(head[: head.rfind(b"\n") + 1], source.name)


def blocks(path: Path, size: int = BLOCK) -> Iterator[bytes]:
    """The bytes of a file in pieces that end where lines end, so that no secret is cut in two."""
    with path.open("rb") as file:
        rest = b""
        while data := file.read(size):
            data = rest + data
            cut = data.rfind(b"\n") + 1 if len(data) < 2 * size else len(data)
            data, rest = (data[:cut], data[cut:]) if cut else (b"", data)
            if data:
                yield data
        if rest:
            yield rest


class TextWriter:
    """Stores the bytes of one stream as they come; ``finish`` tells the stream how many."""

    def __init__(self, stream: LogStream) -> None:
        self.stream = stream
        self.position = self.lines = self.secrets = 0
        self._hash = hashlib.sha256()

    def write(self, data: bytes) -> None:
        clean, secrets = redact(data)
        LogChunk.objects.bulk_create(
            LogChunk.of(self.stream, self.position + at, clean[at : at + LogChunk.LIMIT])
            for at in range(0, len(clean), LogChunk.LIMIT)
        )
        self._hash.update(data)
        self.position += len(data)
        self.lines += data.count(b"\n")
        self.secrets += secrets

    def finish(self) -> None:
        stream = self.stream
        stream.position, stream.lines, stream.redacted = self.position, self.lines, self.secrets
        stream.sha256, stream.complete = self._hash.hexdigest(), True
        stream.save(update_fields=["position", "lines", "redacted", "sha256", "complete"])


def store_text(stream: LogStream, path: Path) -> None:
    """Store a file whole. Inside the caller's transaction."""
    writer = TextWriter(stream)
    for block in blocks(path):
        writer.write(block)
    writer.finish()
