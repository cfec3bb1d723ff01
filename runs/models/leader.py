"""Who sweeps, and when each kind of process was last heard of. All times are the database's."""

from __future__ import annotations

from datetime import timedelta

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Leader(models.Model):
    """A task that one process at a time does: it is passed on when it was not renewed."""

    name = models.CharField(max_length=30, primary_key=True)
    holder = models.CharField(max_length=100)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name}: {self.holder}"

    @classmethod
    def hold(cls, name: str, holder: str, seconds: float) -> bool:
        """Take or keep the task for so long; False while another has it."""
        until = Now() + timedelta(seconds=seconds)
        beyond = Now() + timedelta(seconds=2 * seconds)  # of before the clock was set back
        over = Q(expires_at__lte=Now()) | Q(expires_at__gt=beyond)
        free = cls.objects.filter(Q(holder=holder) | over, name=name)
        if free.update(holder=holder, expires_at=until) == 1:
            return True
        if cls.objects.filter(name=name).exists():
            return False
        _, made = cls.objects.get_or_create(
            name=name, defaults={"holder": holder, "expires_at": until}
        )
        return made

    @classmethod
    def let_go(cls, name: str, holder: str) -> None:
        """Another may take it at once."""
        cls.objects.filter(name=name, holder=holder).update(expires_at=Now())


class Sign(models.Model):
    """The last sign of life of a kind of process, or since when something is away."""

    WORKER = "worker"
    BROKER_AWAY = "broker-away"

    name = models.CharField(max_length=30, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} at {self.at}"

    @classmethod
    def give(cls, name: str) -> None:
        if cls.objects.filter(name=name).update(at=Now()) == 0:
            cls.objects.get_or_create(name=name, defaults={"at": Now()})

    @classmethod
    def since(cls, name: str) -> None:
        """Note that something is away; the first time stays."""
        cls.objects.get_or_create(name=name, defaults={"at": Now()})

    @classmethod
    def clear(cls, name: str) -> None:
        """It is back."""
        cls.objects.filter(name=name).delete()

    @classmethod
    def troubles(cls, seconds: float) -> dict[str, Sign]:
        """By name: the workers' last sign if it is older than that, and what is away."""
        limit = Now() - timedelta(seconds=seconds)
        found = cls.objects.filter(Q(name=cls.WORKER, at__lt=limit) | Q(name=cls.BROKER_AWAY))
        return {sign.name: sign for sign in found}
