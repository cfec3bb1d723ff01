"""Raw texts between being read and being stored: private files that are thrown away.

Each upload is a set of files, named by its reader and a secret. Those that an import still needs
stay; of the others each person has only so many, and none for longer than a day.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core import signing

from people.models import Person
from runs.actions.texts import Source
from runs.models import Import
from runs.readers.encoding import as_utf8

KEPT_S = 86_400  # somebody may look at the result over lunch, not over a week
SALT = "pending-text"
Told = Sequence[Sequence[str]]  # of each text its key (the file's name) and its own name


class NoRoom(Exception):
    """This person's texts that wait for a worker leave no room for more; str() tells people."""


@dataclass(frozen=True)
class PendingTexts:
    """Texts on disk by the names they came with; ``ticket`` is what confirms them."""

    sources: tuple[Source, ...]
    ticket: str

    @property
    def size(self) -> int:
        return sum(source.size for source in self.sources)


def keep(texts: Sequence[tuple[str, Iterable[bytes]]], by: Person, size: int = 0) -> PendingTexts:
    """Store the texts for their reader alone, in pieces as they come, and drop old ones.

    ``size`` is what they will have in bytes, as far as it is known. Raises :class:`NoRoom`; OSError
    when the disk is full.
    """
    folder = _folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _make_room(folder, by, size)
    upload = f"{by.pk}-{secrets.token_hex(16)}"
    told: list[tuple[str, str]] = []
    try:
        for i, (name, pieces) in enumerate(texts):
            told.append((f"{upload}-{i}", name))
            _write(folder / told[-1][0], as_utf8(pieces))
    except BaseException:
        forget(told)
        raise
    ticket = signing.dumps([by.pk, told], salt=SALT)
    return PendingTexts(tuple(Source(name, folder / key) for key, name in told), ticket)


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as out:
        for piece in pieces:
            out.write(piece)


def take(ticket: str, by: Person) -> PendingTexts | None:
    """The kept texts, if they are this person's, all still there, and no import's yet."""
    try:
        pk, told = signing.loads(ticket, salt=SALT, max_age=KEPT_S)
    except signing.BadSignature:
        return None
    found = sources(told)
    if pk != by.pk or found is None or _needed().intersection(key for key, _ in told):
        return None
    return PendingTexts(tuple(found), ticket)


def sources(told: Told) -> list[Source] | None:
    """The texts of an import, if all are there."""
    found = [Source(name, _folder() / key) for key, name in told]
    return found if all(source.path.is_file() for source in found) else None


def drop(kept: PendingTexts) -> None:
    """Forget the texts; twice is once."""
    for source in kept.sources:
        source.path.unlink(missing_ok=True)


def forget(told: Told) -> None:
    for key, _ in told:
        (_folder() / key).unlink(missing_ok=True)


def touch(told: Told) -> None:
    """Keep the texts for a day from now."""
    for key, _ in told:
        if (path := _folder() / key).exists():
            os.utime(path)


def _folder() -> Path:
    return Path(settings.VAR_DIR) / "pending"


def _needed() -> set[str]:
    """Files that a worker still needs."""
    return {
        key for told in Import.objects.open().values_list("texts", flat=True) for key, _ in told
    }


def _make_room(folder: Path, by: Person, size: int) -> None:
    """Drop what is older than a day, then this person's oldest texts that nobody confirmed."""
    needed, uploads = _needed(), dict[str, list[tuple[Path, os.stat_result]]]()
    waiting_bytes, waiting = 0, set[str]()
    for path in folder.iterdir():
        try:
            stat = path.stat()
        except OSError:
            continue  # another process was a moment faster
        upload = path.name.rpartition("-")[0]
        own = path.name.startswith(f"{by.pk}-")
        if path.name in needed:
            if own:
                waiting.add(upload)
                waiting_bytes += stat.st_size
        elif time.time() - stat.st_mtime > KEPT_S:
            path.unlink(missing_ok=True)
        elif own:
            uploads.setdefault(upload, []).append((path, stat))
    if (told := _too_much(len(waiting), waiting_bytes, size)) is not None:
        raise NoRoom(told)
    oldest = sorted(uploads.values(), key=lambda files: -min(s.st_mtime for _, s in files))
    held = waiting_bytes + sum(s.st_size for files in oldest for _, s in files)
    while oldest and (
        len(waiting) + len(oldest) >= settings.PENDING_UPLOADS
        or held + size > settings.PENDING_BYTES
    ):
        for path, stat in oldest.pop():
            held -= stat.st_size
            path.unlink(missing_ok=True)


def _too_much(waiting: int, held: int, size: int) -> str | None:
    most, room = settings.PENDING_UPLOADS, settings.PENDING_BYTES
    if waiting >= most:
        return f"{waiting} uploads of yours wait for a worker already. Wait until one has ended."
    if held + size > room:
        mib = 2**20
        return (
            f"Your uploads that wait for a worker hold {held // mib} MiB, this one "
            f"{size // mib} MiB; {room // mib} MiB are kept for one person. "
            "Wait until one has ended, or import less at once."
        )
    return None
