"""A run: one server launch and the levels measured in it."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from hosts.models import LinkState
from runs.models.campaign import Arm, Campaign
from runs.models.states import ACTIVE, FINAL, Reason, State

# in a reason's text, between the sentence and the end of the log
LOG_FOLLOWS = "Last lines of the server log:"


class RunQuerySet(models.QuerySet["Run"]):
    def active(self) -> RunQuerySet:
        return self.filter(state__in=ACTIVE)

    def unfinished(self) -> RunQuerySet:
        return self.exclude(state__in=FINAL)

    def for_lists(self) -> RunQuerySet:
        whole = self.filter(campaign__importing_since=None)
        return whole.select_related("campaign", "arm", "arm__config", "arm__workload", "host")


class Run(models.Model):
    """The statistical unit. Everything about its execution is in its rows, nothing in memory."""

    Link = LinkState

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="runs")
    arm = models.ForeignKey(Arm, on_delete=models.CASCADE, related_name="runs")
    host = models.ForeignKey("hosts.Host", on_delete=models.PROTECT, related_name="runs")
    launch = models.PositiveIntegerField(default=1, help_text="which launch of its arm")
    position = models.PositiveIntegerField(default=0, help_text="place in the campaign's plan")
    imported = models.BooleanField(default=False)
    rerun_of = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="+")
    # what the proposal foretold when it was confirmed, per level (runs.foretold); [] without one
    predicted = models.JSONField(default=list, blank=True)
    queued_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    queued_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    state = models.CharField(max_length=20, choices=State, default=State.QUEUED)
    state_since = models.DateTimeField(default=timezone.now)
    reason = models.CharField(max_length=30, choices=Reason, blank=True)
    reason_text = models.TextField(blank=True)
    waiting_for = models.CharField(max_length=300, blank=True, help_text="why it does not go on")
    cancel_requested_at = models.DateTimeField(null=True)
    cancel_requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    # the claim: only the conductor with the latest epoch may move the run
    claim_holder = models.CharField(max_length=100, blank=True)
    claim_epoch = models.BigIntegerField(default=0)
    claim_expires_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField(default=timezone.now)
    fence = models.BigIntegerField(null=True)

    link = models.CharField(max_length=20, choices=Link, default=Link.OK)
    link_since = models.DateTimeField(null=True)
    link_text = models.CharField(max_length=600, blank=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        ordering = ["position", "pk"]
        indexes = [
            # the conductor's sweep reads unfinished runs only
            models.Index(
                fields=["due_at"],
                name="runs_run_unfinished",
                condition=~Q(state__in=list(FINAL)),
            )
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=[State.QUEUED, State.SUCCEEDED, *ACTIVE], reason="")
                | (Q(state__in=[s for s in FINAL if s != State.SUCCEEDED]) & ~Q(reason="")),
                name="runs_run_bad_end_has_reason",
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None, state__in=[State.QUEUED, *ACTIVE])
                | (Q(ended_at__isnull=False) & Q(state__in=list(FINAL))),
                name="runs_run_ended_iff_final",
            ),
        ]

    def __str__(self) -> str:
        return f"Run {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("run-detail", args=[self.pk])

    @property
    def is_final(self) -> bool:
        return self.state in FINAL

    @property
    def failed(self) -> bool:
        """Whether it ended badly; what an early stop made needless did not."""
        return self.is_final and self.state != State.SUCCEEDED and not self.needless

    @property
    def needless(self) -> bool:
        """Whether its plan was settled before its turn came."""
        return self.reason == Reason.STOPPED_EARLY

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE

    @property
    def may_cancel(self) -> bool:
        return not self.is_final and self.cancel_requested_at is None

    @property
    def link_trouble(self) -> bool:
        """Whether what is shown of it may be old, because the way to its host is not well."""
        return self.is_active and self.link != LinkState.OK

    @property
    def link_asks(self) -> bool:
        """Whether the way to its host is open again only after a person has done something."""
        return self.link in (LinkState.KEY_CHANGED, LinkState.LOGIN_REFUSED)

    @property
    def told(self) -> str:
        """The sentence of the reason, without the log lines kept with it."""
        return self.reason_text.partition(LOG_FOLLOWS)[0].strip()

    @property
    def last_lines(self) -> list[str]:
        """The server's last words, kept with the reason."""
        lines = self.reason_text.partition(LOG_FOLLOWS)[2].strip("\n")
        return lines.splitlines()

    @property
    def duration(self) -> timedelta | None:
        """From the first step to the end, or to now while it runs; unknown for imports."""
        if self.started_at is None:
            return None
        return (self.ended_at or timezone.now()) - self.started_at
