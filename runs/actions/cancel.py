"""Stop a run."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from people.models import Person
from runs.actions.move import NotAllowed, move
from runs.live import announce
from runs.models import Event, Reason, Run, State


@transaction.atomic
def cancel_run(*, run: Run, by: Person) -> Run:
    """Cancel a queued run at once; ask an active one's conductor to stop it. Twice is once."""
    if run.state == State.QUEUED:
        try:
            move(
                run,
                allowed_from=[State.QUEUED],
                to=State.CANCELLED,
                epoch=None,
                actor=str(by),
                reason=Reason.BY_PERSON,
                text=f"stopped by {by} before it began",
            )
            return run
        except NotAllowed:
            run.refresh_from_db()  # a conductor was a moment faster: it will stop it
    asked = Run.objects.unfinished().filter(pk=run.pk, cancel_requested_at=None)
    if asked.update(cancel_requested_at=timezone.now(), cancel_requested_by=by):
        Event.objects.create(
            run=run, kind="cancel", at=timezone.now(), text=f"{by} asked to stop", actor=str(by)
        )
        transaction.on_commit(lambda: announce(run.pk, "state"))
    run.refresh_from_db()
    return run
