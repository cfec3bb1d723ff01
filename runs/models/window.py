"""Windows that somebody moved: every move stays."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from runs.models.attempt import Attempt


class WindowMove(models.Model):
    """A level's window was moved by hand, or put back (without a start and an end).

    It names its level by place and concurrency, since an import's levels are made anew when it is
    read again. Times are epoch seconds on the server's clock; ``before_…`` is what the window
    was until then.
    """

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="window_moves")
    index = models.PositiveIntegerField()
    concurrency = models.PositiveIntegerField()
    start = models.FloatField(null=True)
    end = models.FloatField(null=True)
    before_start = models.FloatField()
    before_end = models.FloatField()
    before_source = models.CharField(max_length=12)
    reason = models.CharField(max_length=500, blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["attempt", "index"], name="runs_windowmove_level")]
        constraints = [
            models.CheckConstraint(
                condition=Q(start=None, end=None)
                | (
                    Q(start__isnull=False, end__isnull=False)
                    & Q(end__gt=F("start"))
                    & ~Q(reason="")
                ),
                name="runs_windowmove_has_reason",
            )
        ]

    def __str__(self) -> str:
        return f"window of level {self.concurrency} {'moved' if self.start else 'put back'}"
