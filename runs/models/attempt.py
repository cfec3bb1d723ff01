"""One try at a run on a node, and the operations it is made of."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from runs.models.run import Run


class Attempt(models.Model):
    """A directory on the node. Samples, levels and logs belong to it, so retries never mix."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="attempts")
    n = models.PositiveIntegerField(default=1)
    made_at = models.DateTimeField(auto_now_add=True)
    facts = models.JSONField(default=dict)  # the node's facts at preparation
    server = models.JSONField(default=dict)  # the supervisor's started record
    readiness = models.JSONField(default=dict)  # what made us say "ready"
    startup = models.JSONField(default=dict)  # start-up facts read from the log
    server_exit = models.JSONField(null=True)
    load_exit = models.JSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "n"], name="runs_attempt_n")]

    def __str__(self) -> str:
        return f"{self.run} attempt {self.n}"


class OperationQuerySet(models.QuerySet["Operation"]):
    def claim(self, pk: int, worker: str) -> bool:
        """Take a planned operation; of several workers exactly one succeeds."""
        planned = self.filter(pk=pk, state=Operation.State.PLANNED)
        return (
            planned.update(
                state=Operation.State.SENT,
                worker=worker,
                sent_at=timezone.now(),
                beat_at=Now(),
                tries=models.F("tries") + 1,
            )
            == 1
        )

    def give_back(self, worker: str) -> int:
        """Put back what a worker that is going away still holds; how many that were."""
        held = self.filter(state=Operation.State.SENT, worker=worker)
        return held.update(state=Operation.State.PLANNED, sent_at=None, beat_at=None)


class Operation(models.Model):
    """A remote action: planned, then done once on the node, then confirmed here.

    Workers carry operations out and decide nothing. Each verb is safe to repeat, because the node
    answers a repeated operation with what it did the first time.
    """

    class State(models.TextChoices):
        PLANNED = "planned"
        SENT = "sent"
        DONE = "done"
        FAILED = "failed"

    class Kind(models.TextChoices):
        PREPARE = "prepare"
        START_SERVER = "start-server"
        CHECK_READY = "check-ready"
        START_LOAD = "start-load"
        START_GPU = "start-gpu"
        COLLECT = "collect"
        STOP = "stop"

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="operations")
    kind = models.CharField(max_length=20, choices=Kind)
    n = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=10, choices=State, default=State.PLANNED)
    fence = models.BigIntegerField()
    request = models.JSONField(default=dict)
    result = models.JSONField(null=True)
    reason = models.CharField(max_length=30, blank=True)
    error = models.TextField(blank=True)
    worker = models.CharField(max_length=100, blank=True)
    # how often it was taken: a worker that was overtaken meanwhile settles nothing
    tries = models.PositiveIntegerField(default=0)
    planned_at = models.DateTimeField(auto_now_add=True)
    sent_at = models.DateTimeField(null=True)
    beat_at = models.DateTimeField(null=True)  # the worker's last sign of life, database time
    ended_at = models.DateTimeField(null=True)

    objects = OperationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["attempt", "kind", "n"], name="runs_operation_once")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.n} of {self.attempt}"

    def beat(self) -> bool:
        """The worker lives. False if the operation has passed on: then it must stop."""
        return self._mine().update(beat_at=Now()) == 1

    def settle(self, *, result: dict[str, Any]) -> bool:
        """Confirm; false if it was settled already (a second delivery came late)."""
        return self._end(state=Operation.State.DONE, result=result)

    def fail(self, *, reason: str, error: str) -> bool:
        return self._end(state=Operation.State.FAILED, reason=reason, error=error)

    def put_back(self) -> bool:
        """Not done, and not failed either: another worker takes it."""
        return self._mine().update(state=Operation.State.PLANNED, sent_at=None, beat_at=None) == 1

    def _end(self, **values: Any) -> bool:
        return self._mine().update(ended_at=timezone.now(), **values) == 1

    def _mine(self) -> OperationQuerySet:
        return Operation.objects.filter(pk=self.pk, state=Operation.State.SENT, tries=self.tries)
