"""Make a note a rule, take that back, and except runs from it."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from people.models import Person
from runs.actions.launch import Refused
from runs.caveats.predicate import PredicateError, read_predicate
from runs.models import Note, NoteRule, RuleException, Run


@transaction.atomic
def promote(*, note: Note, predicate: str, by: Person | None) -> NoteRule:
    """Show the note on every run of which the predicate holds; a standing rule is replaced.

    Raises :class:`Refused`.
    """
    predicate = " ".join(predicate.split())
    try:
        read_predicate(predicate)
    except PredicateError as error:
        raise Refused(str(error), "predicate") from None
    if len(predicate) > 500:
        raise Refused("The condition is longer than 500 characters.", "predicate")
    for standing in NoteRule.objects.select_for_update().filter(note=note, undone_at=None):
        undo_rule(rule=standing, by=by)
    return NoteRule.objects.create(note=note, predicate=predicate, by=by)


@transaction.atomic
def undo_rule(*, rule: NoteRule, by: Person | None) -> None:
    """The note stands on its own thing only, again. Twice is once."""
    standing = NoteRule.objects.filter(pk=rule.pk, undone_at=None)
    standing.update(undone_at=timezone.now(), undone_by=by)


@transaction.atomic
def except_run(*, rule: NoteRule, run: Run, reason: str, by: Person | None) -> None:
    """Say that the note does not hold on a run. Raises :class:`Refused` without a reason."""
    reason = " ".join(reason.split())[:300]
    if not reason:
        raise Refused("Say why it does not hold there.", "reason")
    RuleException.objects.get_or_create(rule=rule, run=run, defaults={"reason": reason, "by": by})
