"""Raw texts between being read and being confirmed: private files that are thrown away."""

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

KEPT_S = 86_400  # somebody may look at the result over lunch, not over a week
SALT = "pending-text"


@dataclass(frozen=True)
class PendingTexts:
    """Texts on disk by the names they came with; ``ticket`` is what confirms them."""

    sources: tuple[Source, ...]
    ticket: str

    @property
    def size(self) -> int:
        return sum(source.size for source in self.sources)


def keep(texts: Sequence[tuple[str, Iterable[bytes]]], by: Person) -> PendingTexts:
    """Store the texts for their reader alone, in pieces as they come, and drop old ones."""
    folder = _folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _drop_old(folder)
    told = [(_write(folder, pieces), name) for name, pieces in texts]
    ticket = signing.dumps([by.pk, told], salt=SALT)
    return PendingTexts(tuple(Source(name, folder / key) for key, name in told), ticket)


def _write(folder: Path, pieces: Iterable[bytes]) -> str:
    key = secrets.token_hex(16)
    handle = os.open(folder / key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as out:
        for piece in pieces:
            out.write(piece)
    return key


def take(ticket: str, by: Person) -> PendingTexts | None:
    """The kept texts, if they are this person's and all still there."""
    try:
        pk, told = signing.loads(ticket, salt=SALT, max_age=KEPT_S)
    except signing.BadSignature:
        return None
    sources = tuple(Source(name, _folder() / key) for key, name in told)
    there = all(source.path.is_file() for source in sources)
    return PendingTexts(sources, ticket) if pk == by.pk and there else None


def drop(kept: PendingTexts) -> None:
    """Forget the texts; twice is once."""
    for source in kept.sources:
        source.path.unlink(missing_ok=True)


def _folder() -> Path:
    return Path(settings.VAR_DIR) / "pending"


def _drop_old(folder: Path) -> None:
    for file in folder.iterdir():
        try:
            if time.time() - file.stat().st_mtime > KEPT_S:
                file.unlink()
        except OSError:
            pass  # another process was a moment faster
