"""Notes: a person's remarks."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from runs.models.campaign import Arm, Campaign
from runs.models.run import Run


class NoteQuerySet(models.QuerySet["Note"]):
    def newest_first(self) -> NoteQuerySet:
        return self.select_related("author", "campaign", "run", "comparison").order_by("-pk")


class Note(models.Model):
    """A person's remark in Markdown, hung on exactly one thing.

    ``anchor`` names in words a thing that has no row of its own yet ("both arms", "the host").
    """

    class Kind(models.TextChoices):
        NOTE = "note"
        FINDING = "finding"
        QUESTION = "question"
        CAVEAT = "caveat"
        DEAD_END = "dead-end", "dead end"

    kind = models.CharField(max_length=12, choices=Kind, default=Kind.NOTE)
    text = models.TextField(max_length=20_000)
    anchor = models.CharField(max_length=120, blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="notes"
    )
    written_at = models.DateTimeField(auto_now_add=True)
    campaign = models.ForeignKey(
        Campaign, null=True, on_delete=models.CASCADE, related_name="notes"
    )
    arm = models.ForeignKey(Arm, null=True, on_delete=models.CASCADE, related_name="notes")
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="notes")
    comparison = models.ForeignKey(
        "runs.Comparison", null=True, on_delete=models.CASCADE, related_name="notes"
    )

    objects = NoteQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=(
                    Q(campaign__isnull=False, arm=None, run=None, comparison=None)
                    | Q(campaign=None, arm__isnull=False, run=None, comparison=None)
                    | Q(campaign=None, arm=None, run__isnull=False, comparison=None)
                    | Q(campaign=None, arm=None, run=None, comparison__isnull=False)
                ),
                name="runs_note_one_anchor",
            )
        ]

    def __str__(self) -> str:
        return self.text[:60]
