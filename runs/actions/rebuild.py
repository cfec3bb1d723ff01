"""Judge launches again whose figures an older formula found."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from runs.actions.conclude import judge_attempt
from runs.actions.levelwindow import FORMULA, settle_import
from runs.models import Attempt, Level


def outdated() -> QuerySet[Attempt]:
    """Attempts of ended runs with a level that an older formula measured; the newest first."""
    old = Level.objects.filter(state=Level.State.DONE, formula__lt=FORMULA)
    return ended().filter(pk__in=old.values("attempt"))


def ended() -> QuerySet[Attempt]:
    found = Attempt.objects.filter(run__ended_at__isnull=False)
    return found.select_related("run__arm__config", "run__arm__workload").order_by("-pk")


@transaction.atomic
def rebuild(*, attempt: Attempt) -> None:
    """All that is derived of samples, levels and events; what an import prints stays."""
    if attempt.run.imported:
        settle_import(attempt)
    else:
        judge_attempt(attempt=attempt)
