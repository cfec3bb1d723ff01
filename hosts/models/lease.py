"""Who may use a host. A lease never expires into another hand: only evidence frees it."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from hosts.models.host import Host


class HostLease(models.Model):
    """One run per host at a time, with a fencing token that the node checks.

    ``holder`` is the run's id as text, since this package knows nothing of runs.
    """

    class Status(models.TextChoices):
        FREE = "free", "free"
        HELD = "held", "held"

    host = models.OneToOneField(Host, on_delete=models.CASCADE, related_name="lease")
    status = models.CharField(max_length=10, choices=Status, default=Status.FREE)
    holder = models.CharField(max_length=64, blank=True)
    holder_name = models.CharField(max_length=200, blank=True)
    fence = models.BigIntegerField(default=0)
    since = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status="free", holder="") | models.Q(status="held"),
                name="hosts_hostlease_free_has_no_holder",
            )
        ]

    @classmethod
    def grant(cls, host: Host, *, holder: str, holder_name: str) -> int | None:
        """Give a free host to ``holder``: the new fence, or ``None`` while another holds it.

        Granting again to the same holder returns its fence unchanged.
        """
        lease, _ = cls.objects.get_or_create(host=host)
        if lease.status == cls.Status.HELD and lease.holder == holder:
            return lease.fence
        won = cls.objects.filter(pk=lease.pk, status=cls.Status.FREE).update(
            status=cls.Status.HELD,
            holder=holder,
            holder_name=holder_name,
            fence=models.F("fence") + 1,
            since=timezone.now(),
        )
        return cls.objects.get(pk=lease.pk).fence if won == 1 else None

    @classmethod
    def release(cls, host: Host, *, holder: str) -> bool:
        """Free the host if ``holder`` still has it."""
        held = cls.objects.filter(host=host, status=cls.Status.HELD, holder=holder)
        freed = held.update(status=cls.Status.FREE, holder="", holder_name="", since=None)
        return freed == 1

    @classmethod
    def quarantine(cls, host: Host, holder: str, why: str) -> bool:
        """Keep everybody off what ``holder`` had; whoever waits for it reads why."""
        kept = cls.objects.filter(host=host, holder=holder)
        return kept.update(holder_name=f"nobody, it is in quarantine: {why}"[:200]) > 0
