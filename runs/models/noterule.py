"""Notes that became rules: shown on every run, past and future, of which a predicate holds."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from runs.models.note import Note
from runs.models.run import Run


class NoteRule(models.Model):
    """A person says where a note holds. ``predicate`` is text of ``runs.caveats.predicate``.

    Matches are found when a page is shown, so a rule that is undone leaves nothing behind.
    """

    note = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="rules")
    predicate = models.CharField(max_length=500)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    at = models.DateTimeField(auto_now_add=True)
    undone_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    undone_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["note"], condition=Q(undone_at=None), name="runs_noterule_one_standing"
            )
        ]

    def __str__(self) -> str:
        return self.predicate


class RuleException(models.Model):
    """A run on which a rule's note does not hold, and why."""

    rule = models.ForeignKey(NoteRule, on_delete=models.CASCADE, related_name="exceptions")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    reason = models.CharField(max_length=300)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["rule", "run"], name="runs_ruleexception_once")
        ]

    def __str__(self) -> str:
        return f"not on {self.run}: {self.reason}"
