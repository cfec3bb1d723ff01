"""Dismiss a caveat with a reason, and take that back. Both stay to be read."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from people.models import Person
from runs.actions.launch import Refused
from runs.models import Comparison, Dismissal, Run

MOST = 500


@transaction.atomic
def dismiss(*, on: Run | Comparison, slug: str, reason: str, by: Person | None) -> Dismissal:
    """Say why a rule's remark does not matter here. Twice keeps the first reason.

    Raises :class:`Refused` without a reason.
    """
    reason = " ".join(reason.split())
    if not reason:
        raise Refused("Say why it does not matter here: the reason stays beside the caveat.")
    if len(reason) > MOST:
        raise Refused(f"The reason is longer than {MOST} characters: a note can hold more.")
    field = "run" if isinstance(on, Run) else "comparison"
    told, _ = Dismissal.objects.get_or_create(
        **{field: on}, slug=slug, undone_at=None, defaults={"reason": reason, "by": by}
    )
    return told


@transaction.atomic
def undo_dismissal(*, dismissal: Dismissal, by: Person | None) -> None:
    """The caveat counts again. Twice is once."""
    standing = Dismissal.objects.filter(pk=dismissal.pk, undone_at=None)
    standing.update(undone_at=timezone.now(), undone_by=by)
