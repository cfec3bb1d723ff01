"""Write a note."""

from __future__ import annotations

from django.db import transaction

from people.models import Person
from runs.models import Arm, Campaign, Comparison, Note, Run

Anchor = Campaign | Arm | Run | Comparison


@transaction.atomic
def add_note(*, on: Anchor, text: str, kind: str, by: Person | None, anchor: str = "") -> Note:
    """Hang a remark on a campaign, an arm, a run or a comparison.

    ``anchor`` names in words what within it is meant ("both arms", "the host").
    """
    field = type(on).__name__.lower()
    return Note.objects.create(**{field: on}, text=text, kind=kind, author=by, anchor=anchor)
