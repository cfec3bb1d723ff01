"""An import that a worker carries out: what was asked, how far it is, and how it ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone

from runs.models.campaign import Campaign


class ImportQuerySet(models.QuerySet["Import"]):
    def open(self) -> ImportQuerySet:
        """Those whose texts are still needed by a worker."""
        return self.filter(state__in=(Import.State.WAITING, Import.State.RUNNING))

    def due(self) -> ImportQuerySet:
        """The waiting ones, and those whose worker has been silent for too long."""
        silent = timezone.now() - timedelta(seconds=settings.DURATIONS.import_silence)
        stale = Q(state=Import.State.RUNNING, heard_at__lt=silent)
        return self.filter(Q(state=Import.State.WAITING) | stale).order_by("pk")

    def next_due(self) -> Import | None:
        """The one to wake a worker for: none while another one is being carried out."""
        due = self.due()
        silent = due.filter(state=Import.State.RUNNING).first()
        if silent is not None:
            return silent
        return None if self.filter(state=Import.State.RUNNING).exists() else due.first()

    def claim(self, pk: int, worker: str) -> Import | None:
        """Take a due import; its epoch rises, so an earlier worker can write no more.

        ``None`` if it is not due, or if another one runs: they go one after the other.
        """
        try:
            with transaction.atomic():
                taken = (
                    self.due()
                    .filter(pk=pk)
                    .order_by()
                    .update(
                        state=Import.State.RUNNING,
                        epoch=F("epoch") + 1,
                        tries=F("tries") + 1,
                        position=0,
                        worker=worker[:100],
                        heard_at=timezone.now(),
                    )
                )
        except IntegrityError:
            return None
        return self.get(pk=pk) if taken == 1 else None

    def give_back(self, worker: str) -> int:
        """Let another worker begin anew at once: this one is ending, and writes no more."""
        held = self.filter(state=Import.State.RUNNING, worker=worker[:100])
        return held.update(state=Import.State.WAITING)


class Import(models.Model):
    """The ledger of one import. Its uploaded texts are kept until it has ended.

    ``half`` is the hidden campaign that a try fills; the next try removes it and begins anew. In
    one transaction the campaign becomes whole and the import done: nothing is stored twice.
    """

    class Kind(models.TextChoices):
        TEXTS = "texts"
        AGAIN = "again"  # an import's stored texts are read again

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    kind = models.CharField(max_length=10, choices=Kind, default=Kind.TEXTS)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="imports"
    )
    texts = models.JSONField(default=list)  # of each its key among the pending texts, and its name
    size = models.BigIntegerField()  # bytes of all texts
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    position = models.BigIntegerField(default=0)  # bytes read and stored in this try
    epoch = models.PositiveIntegerField(default=0)
    tries = models.PositiveIntegerField(default=0)
    worker = models.CharField(max_length=100, blank=True)
    error = models.TextField(blank=True)
    asked_at = models.DateTimeField(auto_now_add=True)
    heard_at = models.DateTimeField(null=True)  # the worker's last sign of life
    ended_at = models.DateTimeField(null=True)
    campaign = models.ForeignKey(
        Campaign, null=True, on_delete=models.SET_NULL, related_name="imports"
    )
    half = models.ForeignKey(Campaign, null=True, on_delete=models.SET_NULL, related_name="+")

    objects = ImportQuerySet.as_manager()

    class Meta:
        constraints = [
            # the other places of the workers stay free for what runs on nodes
            models.UniqueConstraint(
                fields=["state"],
                condition=Q(state="running"),
                name="runs_import_one_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"import {self.pk} of {self.name}"

    def get_absolute_url(self) -> str:
        return reverse("import-detail", args=[self.pk])

    @property
    def name(self) -> str:
        if self.kind == self.Kind.AGAIN:
            return str(self.campaign) if self.campaign else "a campaign that is gone"
        more = f" and {len(self.texts) - 1} more" if len(self.texts) > 1 else ""
        return f"{self.texts[0][1]}{more}" if self.texts else "texts"

    @property
    def is_open(self) -> bool:
        return self.state in (self.State.WAITING, self.State.RUNNING)

    @property
    def percent(self) -> int:
        return min(99, 100 * self.position // self.size) if self.size else 0

    def mine(self) -> ImportQuerySet:
        """The row, as long as no later worker has taken it over."""
        return Import.objects.filter(pk=self.pk, epoch=self.epoch, state=self.State.RUNNING)

    def ended(self, state: str, **values: Any) -> bool:
        """End this try; false if another worker has taken it over."""
        return self.mine().update(state=state, ended_at=timezone.now(), **values) == 1
