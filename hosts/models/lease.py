"""Who may use what of a host. A lease never expires into another hand: only evidence frees it."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import models, transaction
from django.utils import timezone

from hosts.fence import Fence, keys_of
from hosts.models.facts import HostFacts
from hosts.models.host import Host, HostKey
from hosts.models.installation import Installation


def machines() -> dict[int, str]:
    """For each host the machine that it names: equal for two names of one machine.

    Machines tell an id when they are looked at. One that was never looked at is taken for the
    machine of another host with the same key.
    """
    told = dict(HostFacts.objects.values_list("host_id", "data__machine_id"))
    machine = {pk: told.get(pk) or "" for pk in Host.objects.values_list("pk", flat=True)}
    same_key: dict[str, list[int]] = {}
    for public, pk in HostKey.objects.order_by("host_id").values_list("public", "host_id"):
        if pk in machine:  # not one that was added a moment ago
            same_key.setdefault(public, []).append(pk)
    for hosts in same_key.values():
        known = next((machine[pk] for pk in hosts if machine[pk]), f"host {hosts[0]}")
        machine |= {pk: machine[pk] or known for pk in hosts}
    return {pk: name or f"host {pk}" for pk, name in machine.items()}


Claim = tuple[Sequence[int], int | None]  # GPUs (none: the whole host) and port


def meet(one: Claim, other: Claim) -> bool:
    """Whether two claims on one machine cannot be held at once."""
    (gpus, port), (others, their_port) = one, other
    if not gpus or not others:
        return True
    return bool(set(gpus) & set(others)) or (port is not None and port == their_port)


class HostLease(models.Model):
    """A claim on a whole host (no ``gpus``), or on some of its GPUs and a port.

    There is a row while something is held; a row in quarantine is held by nobody and blocks
    everybody until a person, or late evidence, frees it. ``holder`` is the run's id as text, since
    this package knows nothing of runs.
    """

    class Status(models.TextChoices):
        HELD = "held", "held"
        QUARANTINED = "quarantined", "in quarantine"

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="leases")
    gpus = models.JSONField(default=list, help_text="indices; none is the whole host")
    port = models.PositiveIntegerField(null=True)
    status = models.CharField(max_length=12, choices=Status, default=Status.HELD)
    why = models.TextField(blank=True)
    holder = models.CharField(max_length=64)
    holder_name = models.CharField(max_length=200, blank=True)
    fence = models.BigIntegerField()
    since = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["since", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["host", "holder"], name="hosts_hostlease_once"),
            models.CheckConstraint(
                condition=models.Q(status="held", why="")
                | (models.Q(status="quarantined") & ~models.Q(why="")),
                name="hosts_hostlease_quarantine_says_why",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.what} of {self.host}"

    @property
    def what(self) -> str:
        """ "the whole host", "GPU 0", "GPUs 0, 1"."""
        if not self.gpus:
            return "the whole host"
        return f"GPU{'s' if len(self.gpus) > 1 else ''} {', '.join(map(str, self.gpus))}"

    @property
    def in_quarantine(self) -> bool:
        return self.status == self.Status.QUARANTINED

    def meets(self, gpus: Sequence[int], port: int | None) -> bool:
        return meet((self.gpus, self.port), (gpus, port))

    def in_words(self, gpus: Sequence[int] = (), port: int | None = None) -> str:
        """A sentence for whoever wants these GPUs and this port: who has what, since when."""
        what = f"{self.what} of {self.host}" if self.gpus else str(self.host)
        if self.gpus and gpus and not set(self.gpus) & set(gpus):
            what = f"port {port} of {self.host}"
        since = f"since {self.since:%-d %b %H:%M} UTC"
        if self.in_quarantine:
            return f"{what} is in quarantine {since}: {self.why}"
        return f"{what} is held by {self.holder_name or self.holder} {since}"

    def order(self) -> Fence:
        """What orders to the node say of this claim."""
        return Fence(
            owner=str(Installation.current().uid),
            token=self.fence,
            keys=keys_of(self.gpus, self.port),
            takeover=self.host.takeover_at is not None,
        )

    @classmethod
    def of(cls, host: Host, holder: str) -> HostLease | None:
        """What ``holder`` holds there, if it still does."""
        return cls.objects.select_related("host").filter(host=host, holder=holder).first()

    @classmethod
    def in_the_way(
        cls, host: Host, *, holder: str, gpus: Sequence[int] = (), port: int | None = None
    ) -> HostLease | None:
        """The oldest claim of anybody else that cannot be held beside this one."""
        same = machines()
        beside = [pk for pk, machine in same.items() if machine == same.get(host.pk)]
        others = cls.objects.filter(host__in=beside).exclude(host=host, holder=holder)
        met = (lease for lease in others.select_related("host") if lease.meets(gpus, port))
        return next(met, None)

    @classmethod
    @transaction.atomic
    def grant(
        cls,
        host: Host,
        *,
        holder: str,
        holder_name: str,
        gpus: Sequence[int] = (),
        port: int | None = None,
    ) -> HostLease | None:
        """The claim with a token of its own, or ``None`` while another is in the way.

        Granting again to the same holder returns what it has, unchanged.
        """
        installation = Installation.locked()
        if (has := cls.of(host, holder)) is not None:
            return None if has.in_quarantine else has
        if cls.in_the_way(host, holder=holder, gpus=gpus, port=port) is not None:
            return None
        return cls.objects.create(
            host=host,
            gpus=sorted(set(gpus)),
            port=port,
            holder=holder,
            holder_name=holder_name,
            fence=installation.next_fence(),
        )

    @classmethod
    @transaction.atomic
    def raise_past(cls, host: Host, *, holder: str, seen: int) -> HostLease | None:
        """A new token above one that the node has seen and this database never gave.

        So a database that was restored from a backup catches up with its nodes. ``None`` if it
        did give that token, to a later holder, or if nothing is held any more.
        """
        installation = Installation.locked()
        lease = cls.of(host, holder)
        if lease is None or lease.in_quarantine or seen <= installation.fence:
            return None
        lease.fence = installation.next_fence(past=seen)
        lease.save(update_fields=["fence"])
        return lease

    @classmethod
    def release(cls, host: Host, *, holder: str) -> bool:
        """Free what ``holder`` has, in quarantine or not: there is evidence that it is over."""
        freed, _ = cls.objects.filter(host=host, holder=holder).delete()
        return freed > 0

    @classmethod
    def quarantine(cls, host: Host, holder: str, why: str) -> bool:
        """Keep everybody off what ``holder`` had, until a person looks; False if it had nothing."""
        kept = cls.objects.filter(host=host, holder=holder)
        return kept.update(status=cls.Status.QUARANTINED, why=why, since=timezone.now()) > 0
