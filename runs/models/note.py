"""Notes: a person's remarks, and what they said before they were edited."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from runs.models.campaign import Arm, Campaign
from runs.models.run import Run

THINGS = ("campaign", "arm", "run", "comparison", "host")


class NoteQuerySet(models.QuerySet["Note"]):
    def newest_first(self) -> NoteQuerySet:
        things = ("campaign", "run", "comparison__campaign", "host")
        return self.select_related("author", *things).order_by("-pk")


def _one_thing() -> Q:
    """Exactly one of the things, or a config key alone."""
    none: dict[str, object] = dict.fromkeys(THINGS)
    found = Q(**none) & ~Q(config_key="")
    for thing in THINGS:
        others = {name: None for name in THINGS if name != thing}
        found |= Q(**{f"{thing}__isnull": False}, **others, config_key="")
    return found


class Note(models.Model):
    """A person's remark in Markdown, hung on exactly one thing, or on a config key everywhere.

    On a run it may name a level, a span of time (seconds since measuring began) or a line of the
    server's log (its first byte). ``anchor`` names in words a thing that has no row of its own
    ("both arms"). ``tags`` are words with a blank between them; only a finding has a ``status``.
    """

    class Kind(models.TextChoices):
        NOTE = "note"
        FINDING = "finding"
        QUESTION = "question"
        DECISION = "decision"
        CAVEAT = "caveat"
        DEAD_END = "dead-end", "dead end"

    class Status(models.TextChoices):
        NEW = "new"
        CONFIRMED = "confirmed"
        REFUTED = "refuted"
        FIXED = "fixed"
        LEFT = "left", "won't follow"

    kind = models.CharField(max_length=12, choices=Kind, default=Kind.NOTE)
    status = models.CharField(max_length=10, choices=Status, blank=True)
    text = models.TextField(max_length=20_000)
    tags = models.CharField(max_length=200, blank=True)
    anchor = models.CharField(max_length=120, blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="notes"
    )
    written_at = models.DateTimeField(auto_now_add=True)
    edited_at = models.DateTimeField(null=True)
    campaign = models.ForeignKey(
        Campaign, null=True, on_delete=models.CASCADE, related_name="notes"
    )
    arm = models.ForeignKey(Arm, null=True, on_delete=models.CASCADE, related_name="notes")
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="notes")
    comparison = models.ForeignKey(
        "runs.Comparison", null=True, on_delete=models.CASCADE, related_name="notes"
    )
    host = models.ForeignKey(
        "hosts.Host", null=True, on_delete=models.CASCADE, related_name="notes"
    )
    config_key = models.CharField(max_length=120, blank=True, db_index=True)
    level = models.PositiveIntegerField(null=True)
    t0 = models.FloatField(null=True)
    t1 = models.FloatField(null=True)
    log_offset = models.BigIntegerField(null=True)

    objects = NoteQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=_one_thing(), name="runs_note_one_anchor"),
            models.CheckConstraint(
                condition=Q(t0=None, log_offset=None) | Q(run__isnull=False),
                name="runs_note_spot_on_a_run",
            ),
            models.CheckConstraint(
                condition=Q(t1=None) | Q(t0__isnull=False, t1__gte=models.F("t0")),
                name="runs_note_span_in_order",
            ),
            models.CheckConstraint(
                condition=Q(status="") | Q(kind="finding"), name="runs_note_status_of_finding"
            ),
        ]

    def __str__(self) -> str:
        return self.text[:60]

    def get_absolute_url(self) -> str:
        return reverse("note-detail", args=[self.pk])

    @property
    def tag_list(self) -> list[str]:
        return self.tags.split()

    @property
    def spot(self) -> str:
        """ "level 16", "75-120 s", "byte 52133": where exactly on its thing; the form reads it."""
        if self.level is not None:
            return f"level {self.level}"
        if self.t0 is not None:
            span = f"{self.t0:g}" if self.t1 is None else f"{self.t0:g}-{self.t1:g}"
            return f"{span} s"
        return f"byte {self.log_offset}" if self.log_offset is not None else ""


class NoteEdit(models.Model):
    """What a note said before somebody changed it."""

    note = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="edits")
    kind = models.CharField(max_length=12)
    status = models.CharField(max_length=10, blank=True)
    text = models.TextField()
    tags = models.CharField(max_length=200, blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.note_id} before {self.at}"
