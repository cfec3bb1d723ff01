"""Judge launches again whose windows an older formula found, or none did."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from runs.actions.conclude import judge_attempt
from runs.actions.levelwindow import FORMULA, settle_import
from runs.models import Attempt, Level
from runs.models.states import FINAL


def of_older_formula() -> QuerySet[Attempt]:
    """Attempts of ended runs with a measured level of an older formula."""
    old = Level.objects.filter(state=Level.State.DONE, formula__lt=FORMULA)
    found = Attempt.objects.filter(pk__in=old.values("attempt"), run__state__in=FINAL)
    return found.select_related("run__arm__config", "run__arm__workload").order_by("pk")


@transaction.atomic
def rebuild(*, attempt: Attempt) -> None:
    """All that is derived of samples, levels and events; what an import prints stays."""
    if attempt.run.imported:
        settle_import(attempt)
    else:
        judge_attempt(attempt=attempt)
