"""The one door through which a run changes its state."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from runs.live import announce
from runs.models import Attempt, Event, Level, Run, State
from runs.models.states import ALLOWED, FINAL


class NotAllowed(Exception):
    """The run was not in an allowed state, or another conductor has claimed it since."""


@transaction.atomic
def move(
    run: Run,
    *,
    allowed_from: Collection[State],
    to: State,
    epoch: int | None,
    actor: str,
    reason: str = "",
    text: str = "",
) -> None:
    """Move ``run`` to state ``to`` and write the event, in one transaction.

    ``epoch`` is the claim under which the caller acts; ``None`` is for people acting on a run
    nobody has claimed yet. Raises :class:`NotAllowed` if the row no longer permits the move, or
    ``states.ALLOWED`` never does; then nothing was written.
    """
    possible = [state for state in allowed_from if to in ALLOWED[state]]
    rows = Run.objects.filter(pk=run.pk, state__in=possible)
    if epoch is not None:
        rows = rows.filter(claim_epoch=epoch)
    values: dict[str, object] = {
        "state": to,
        "state_since": Now(),
        "reason": reason,
        "reason_text": text,
        "waiting_for": "",
    }
    if to in FINAL:
        values |= {"ended_at": Now(), "claim_holder": "", "claim_expires_at": None}
    if to == State.ACQUIRING:
        values["started_at"] = Now()
    if rows.update(**values) != 1:
        raise NotAllowed(f"{run} cannot go to {to.label}")
    Event.objects.create(
        run=run,
        attempt=Attempt.objects.filter(run=run).order_by("-n").first(),
        kind="state",
        at=timezone.now(),
        text=text or to.label,
        data={"to": to, "reason": reason},
        actor=actor,
    )
    if to in FINAL:
        open_levels = Level.objects.filter(attempt__run=run, state=Level.State.RUNNING)
        open_levels.update(state=Level.State.CUT)
    transaction.on_commit(lambda: announce(run.pk, "state"))
    run.refresh_from_db()
