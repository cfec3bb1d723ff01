"""Raw texts between being read and being confirmed: private files that are thrown away."""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core import signing

from people.models import Person

KEPT_S = 86_400  # somebody may look at the result over lunch, not over a week
SALT = "pending-text"


@dataclass(frozen=True)
class PendingText:
    """A text and the name it came by; ``ticket`` is what the page hands back to confirm it."""

    data: bytes
    name: str
    ticket: str


def keep(data: bytes, name: str, by: Person) -> PendingText:
    """Store the text for its reader alone, and drop what nobody came back for."""
    folder = _folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _drop_old(folder)
    key = secrets.token_hex(16)
    handle = os.open(folder / key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as out:
        out.write(data)
    return PendingText(data, name, signing.dumps([by.pk, key, name], salt=SALT))


def take(ticket: str, by: Person) -> PendingText | None:
    """The kept text, if it is this person's and still there."""
    try:
        pk, key, name = signing.loads(ticket, salt=SALT, max_age=KEPT_S)
        data = (_folder() / key).read_bytes()
    except (signing.BadSignature, OSError):
        return None
    return PendingText(data, name, ticket) if pk == by.pk else None


def drop(kept: PendingText) -> None:
    """Forget the text; twice is once."""
    key = signing.loads(kept.ticket, salt=SALT)[1]
    (_folder() / key).unlink(missing_ok=True)


def _folder() -> Path:
    return Path(settings.VAR_DIR) / "pending"


def _drop_old(folder: Path) -> None:
    for file in folder.iterdir():
        try:
            if time.time() - file.stat().st_mtime > KEPT_S:
                file.unlink()
        except OSError:
            pass  # another process was a moment faster
