"""Write a note, and change it; what it said before stays."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from hosts.models import Host
from people.models import Person
from runs.actions.launch import Refused
from runs.models import Arm, Campaign, Comparison, Note, NoteEdit, Run

Anchor = Campaign | Arm | Run | Comparison | Host
TAG = re.compile(r"[^\s#,]+")
_SPOTS = (
    re.compile(r"level\s+(?P<level>[0-9]{1,6})"),
    re.compile(r"(?P<t0>[0-9]{1,9}(?:\.[0-9]{1,3})?)(?:\s*(?:-|to)\s*(?P<t1>[0-9.]{1,13}))?\s*s"),
    re.compile(r"byte\s+(?P<log_offset>[0-9]{1,15})"),
)


@dataclass(frozen=True)
class ConfigKey:
    """A flag or setting by its name, wherever it is shown."""

    name: str


def read_spot(words: str) -> dict[str, Any]:
    """ "level 16", "75-120 s", "byte 52133" as columns of a note; nothing for nothing.

    Raises :class:`Refused` for anything else.
    """
    words = words.strip()
    if not words:
        return {}
    for pattern in _SPOTS:
        found = pattern.fullmatch(words)
        if found:
            told = {name: text for name, text in found.groupdict().items() if text is not None}
            try:
                spot = {k: float(v) if k in ("t0", "t1") else int(v) for k, v in told.items()}
            except ValueError:
                break
            if spot.get("t1", float("inf")) < spot.get("t0", 0):
                raise Refused("The span ends before it begins.", "spot")
            return spot
    raise Refused(
        "Write a place as “level 16”, “75-120 s” (since measuring began) or “byte 52133” (of the "
        "server's log).",
        "spot",
    )


def read_tags(words: str) -> str:
    """ "#Noise, gpu gpu" as "noise gpu"."""
    told = dict.fromkeys(each.lower() for each in TAG.findall(words))
    return " ".join(told)[:200]


@transaction.atomic
def add_note(
    *,
    on: Anchor | ConfigKey,
    text: str,
    kind: str,
    by: Person | None,
    anchor: str = "",
    spot: str = "",
    tags: str = "",
) -> Note:
    """Hang a remark on a thing, or on a config key everywhere.

    ``anchor`` names in words what within it is meant ("both arms"), ``spot`` a level, a span of
    time or a line of a run. A finding begins as new. Raises :class:`Refused` for a spot that is
    none.
    """
    where: dict[str, Any] = (
        {"config_key": on.name} if isinstance(on, ConfigKey) else {type(on).__name__.lower(): on}
    )
    place = read_spot(spot)
    if place and not isinstance(on, Run) and (set(place) - {"level"} or isinstance(on, Host)):
        raise Refused("Only a run has a span of time, a line of a log or a level.", "spot")
    return Note.objects.create(
        **where,
        **place,
        text=text,
        kind=kind,
        status=Note.Status.NEW if kind == Note.Kind.FINDING else "",
        author=by,
        anchor=anchor,
        tags=read_tags(tags),
    )


@transaction.atomic
def edit_note(
    *, note: Note, text: str, kind: str, status: str, tags: str, by: Person | None
) -> bool:
    """Change a note and keep what it said; False if nothing changes.

    Words are their author's: others change the kind, the tags and a finding's status only.
    Raises :class:`Refused`.
    """
    held = Note.objects.select_for_update().get(pk=note.pk)
    status = (status or Note.Status.NEW) if kind == Note.Kind.FINDING else ""
    new = {"text": text, "kind": kind, "status": status, "tags": read_tags(tags)}
    old = {name: getattr(held, name) for name in new}
    if new == old:
        return False
    if text != held.text and held.author_id is not None and held.author != by:
        raise Refused(f"These are {held.author}'s words: write a note of your own.", "text")
    NoteEdit.objects.create(note=held, by=by, **old)
    Note.objects.filter(pk=held.pk).update(**new, edited_at=timezone.now())
    return True
