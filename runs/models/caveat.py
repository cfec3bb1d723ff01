"""Caveats: a rule's remarks on a run, and what people answered to them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from runs.models.campaign import Campaign
from runs.models.run import Run
from runs.models.share import Comparison


class Severity(models.TextChoices):
    BLOCK = "block", "blocks"
    WARN = "warn", "warning"
    INFO = "info", "to know"


class Caveat(models.Model):
    """A rule's remark on a run, with the measured value that fired it.

    ``metric`` names the one figure that it touches; empty: all of them.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="caveats")
    slug = models.SlugField(max_length=60)
    severity = models.CharField(max_length=5, choices=Severity, default=Severity.WARN)
    metric = models.CharField(max_length=40, blank=True)
    text = models.TextField()
    evidence = models.JSONField(default=dict)
    found_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "slug"], name="runs_caveat_once")]

    def __str__(self) -> str:
        return self.slug


def _one_place(name: str) -> models.CheckConstraint:
    return models.CheckConstraint(
        condition=Q(run__isnull=False, comparison=None) | Q(run=None, comparison__isnull=False),
        name=name,
    )


class Dismissal(models.Model):
    """Somebody says why a caveat does not matter here, on a run or on a comparison.

    It hangs on the rule's slug, not on a caveat's row: rules are evaluated anew, answers stay.
    """

    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="dismissals")
    comparison = models.ForeignKey(
        Comparison, null=True, on_delete=models.CASCADE, related_name="dismissals"
    )
    slug = models.SlugField(max_length=60)
    reason = models.CharField(max_length=500)
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
            _one_place("runs_dismissal_one_place"),
            models.CheckConstraint(condition=~Q(reason=""), name="runs_dismissal_has_reason"),
            models.UniqueConstraint(
                fields=["run", "slug"],
                condition=Q(undone_at=None, run__isnull=False),
                name="runs_dismissal_run_once",
            ),
            models.UniqueConstraint(
                fields=["comparison", "slug"],
                condition=Q(undone_at=None, comparison__isnull=False),
                name="runs_dismissal_comparison_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.slug} dismissed: {self.reason}"


class CaveatTest(models.Model):
    """A campaign that was started to test a caveat, and its outcome once it has ended.

    ``plan`` is what the experiment changes and what would confirm the caveat, as data;
    ``doubted`` the word of the verdict that the caveat casts doubt on.
    """

    class Outcome(models.TextChoices):
        CONFIRMED = "confirmed"
        REFUTED = "refuted"
        CANNOT_TELL = "cannot-tell", "cannot tell"

    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="tests")
    comparison = models.ForeignKey(
        Comparison, null=True, on_delete=models.CASCADE, related_name="tests"
    )
    slug = models.SlugField(max_length=60)
    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="tests_caveat")
    plan = models.JSONField(default=dict)
    doubted = models.CharField(max_length=60, blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    at = models.DateTimeField(auto_now_add=True)
    outcome = models.CharField(max_length=12, choices=Outcome, blank=True)
    text = models.TextField(blank=True)
    evidence = models.JSONField(default=dict)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            _one_place("runs_caveattest_one_place"),
            models.CheckConstraint(
                condition=Q(outcome="", ended_at=None)
                | (~Q(outcome="") & ~Q(text="") & Q(ended_at__gte=F("at"))),
                name="runs_caveattest_told_at_end",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.slug}: {self.outcome or 'under test'}"
