"""A machine that is reached over SSH, and the keys it was recognised by."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.urls import reverse

from hosts.transport.addresses import refusal
from hosts.transport.protocol import MAX_JUMPS, Target

hostname = RegexValidator(
    r"^(?=.{1,253}$)([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)"
    r"(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$|^[0-9A-Fa-f:]+:[0-9A-Fa-f:.]*$",
    "Give a host name or an IP address, without user, port or blanks.",
)
login = RegexValidator(
    r"^[a-z_][a-z0-9_-]{0,31}$",
    "A login name begins with a lower-case letter or _ and holds a-z, 0-9, _ and - only.",
)
absolute = RegexValidator(r"^/[^\x00\n]*$", "Give an absolute path, beginning with /.")

sha256_print = RegexValidator(
    r"^SHA256:[A-Za-z0-9+/]{43}$",
    "Give the fingerprint as ssh-add -l prints it: SHA256: and 43 characters.",
)


class HostQuerySet(models.QuerySet["Host"]):
    def for_overview(self) -> HostQuerySet:
        """Hosts with their facts and leases, for the overview and the list of hosts."""
        whole = self.select_related("facts", "link").prefetch_related("keys", "leases")
        return whole.order_by("name")

    def reachable(self) -> HostQuerySet:
        """Hosts that may be connected to: with an address and a confirmed key."""
        return self.exclude(address="").filter(keys__isnull=False).distinct()


class Host(models.Model):
    """One machine. Without an address it only names where imported figures were measured."""

    name = models.SlugField(max_length=64, unique=True)
    address = models.CharField(max_length=253, blank=True, validators=[hostname])
    port = models.PositiveIntegerField(
        default=22, validators=[MinValueValidator(1), MaxValueValidator(65535)]
    )
    user = models.CharField(max_length=32, blank=True, validators=[login])
    key_path = models.CharField(
        "private key file", max_length=500, blank=True, validators=[absolute]
    )
    agent_path = models.CharField("agent socket", max_length=500, blank=True, validators=[absolute])
    agent_key = models.CharField(
        "key in the agent", max_length=50, blank=True, validators=[sha256_print]
    )
    jump = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="behind",
        help_text="the host through which this one is reached",
    )
    labels = models.JSONField(default=list, blank=True)
    simulated = models.BooleanField(default=False, help_text="its engines are simulated")
    added_at = models.DateTimeField(auto_now_add=True)
    takeover_at = models.DateTimeField(
        null=True, help_text="when a person took the node over; until it has heard of that"
    )

    objects = HostQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("host-detail", args=[self.name])

    def clean(self) -> None:
        """A host that can be reached needs a login and exactly one way to prove it."""
        at_jump = self.jump_id is not None  # its own loopback then, which a login there reaches
        loopback = settings.LOOPBACK_HOSTS or at_jump
        if why := refusal(self.address, loopback=loopback):
            raise ValidationError({"address": why})
        if self.address and not self.user:
            raise ValidationError({"user": "Say which user to log in as."})
        if self.address and bool(self.key_path) == bool(self.agent_path):
            raise ValidationError(
                {"key_path": "Give either a private key file or an agent socket, not both."}
            )
        if self.agent_key and not self.agent_path:
            raise ValidationError({"agent_key": "This is for a key that an agent holds."})
        self._check_jump()

    def _check_jump(self) -> None:
        if self.jump is None:
            return
        if not self.jump.address:
            raise ValidationError({"jump": f"{self.jump} has no address to pass through."})
        jumps = self.jump.way()
        if self.pk is not None and self in jumps:
            ring = " through ".join(map(str, [self, *reversed(jumps[jumps.index(self) :])]))
            raise ValidationError({"jump": f"That is a ring: {ring}."})
        if len(jumps) + len(self._levels_behind()) > MAX_JUMPS:
            raise ValidationError(
                {"jump": f"At most {MAX_JUMPS} jump hosts may follow each other."}
            )

    def way(self) -> list[Host]:
        """The jump hosts in the order in which they are passed, then this host.

        Jumps that name each other in a ring came past ``clean``; they make a way that is too long,
        and the transport refuses it.
        """
        way = [self]
        while way[0].jump is not None and len(way) <= MAX_JUMPS + 1:
            way.insert(0, way[0].jump)
        return way

    def _levels_behind(self) -> list[list[int]]:
        """Keys of the hosts reached through this one, of those reached through them, and on."""
        levels: list[list[int]] = []
        level = [self.pk] if self.pk else []
        while level and len(levels) <= MAX_JUMPS:
            level = list(Host.objects.filter(jump__in=level).values_list("pk", flat=True))
            levels.append(level)
        return [level for level in levels if level]

    def all_behind(self) -> list[int]:
        """Keys of all hosts on whose way this one is."""
        return [pk for level in self._levels_behind() for pk in level]

    @property
    def can_connect(self) -> bool:
        return bool(self.address) and bool(self.keys.all())

    def target(self) -> Target:
        """What the transport needs; refuses nothing itself (no key: the transport says so)."""
        target: Target | None = None
        for host in self.way():
            target = Target(
                address=host.address,
                port=host.port,
                user=host.user,
                host_keys=tuple(key.public for key in host.keys.all()),
                key_path=host.key_path or None,
                agent_path=host.agent_path or None,
                agent_key=host.agent_key or None,
                jump=target,
                loopback=settings.LOOPBACK_HOSTS,
            )
        assert target is not None
        return target


class HostKey(models.Model):
    """A host key that a person compared and confirmed (in the demo: its own set-up)."""

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="keys")
    public = models.TextField(help_text="ssh-ed25519 AAAA…")
    fingerprint = models.CharField(max_length=100)
    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    confirmed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["host", "public"], name="hosts_hostkey_once")
        ]

    def __str__(self) -> str:
        return self.fingerprint
