"""Comparisons that were kept, and links to frozen copies of them."""

from __future__ import annotations

import hashlib
import json
import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone

from people.models import Person, digest
from runs.models.campaign import Campaign


class Comparison(models.Model):
    """A choice of arms, the first of them the baseline. ``key`` is "3~4": arm ids in order."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="comparisons")
    key = models.CharField(max_length=100, unique=True)
    made_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"comparison {self.key}"

    def get_absolute_url(self) -> str:
        return f"{reverse('compare')}?arms={self.key}"

    @property
    def arm_ids(self) -> list[int]:
        return [int(part) for part in self.key.split("~")]


class ShareLinkQuerySet(models.QuerySet["ShareLink"]):
    def live(self, token: str) -> ShareLink | None:
        """The link behind a token, if it may still be opened."""
        now = timezone.now()
        links = self.filter(_still_open(now), digest=digest(token))
        return links.first()

    def of_comparison(self, key: str) -> ShareLinkQuerySet:
        """All links of "3~4", the newest first, without what they show."""
        links = self.filter(comparison__key=key).defer("snapshot")
        return links.order_by("-pk").select_related("made_by")

    def longest_unseen(self) -> ShareLinkQuerySet:
        """Open links, those first whose comparison was looked at longest ago."""
        links = self.filter(_still_open(timezone.now())).select_related("comparison")
        return links.order_by(F("looked_at").asc(nulls_first=True), "pk")


def _still_open(now: datetime) -> Q:
    return Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=now))


class ShareLink(models.Model):
    """A read-only page of a frozen comparison, for people without an account.

    ``snapshot`` was built from an allow-list when the link was made; the page shows nothing else.
    The token (256 bit) is shown once and kept as its SHA-256. ``expires_at`` None: it opens until
    somebody takes it back.

    ``since`` is what later evidence says otherwise, by the same allow-list; None, while it agrees.
    It is found anew when ``stamp``, a digest of all that it rests on, is no longer true.
    """

    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="links")
    digest = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=8)
    snapshot = models.JSONField()
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    made_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    since = models.JSONField(null=True)
    stamp = models.CharField(max_length=64, blank=True)
    looked_at = models.DateTimeField(null=True)

    objects = ShareLinkQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(revoked_at__isnull=False) | Q(revoked_by=None),
                name="runs_sharelink_revoked_pair",
            )
        ]

    def __str__(self) -> str:
        return f"{self.prefix}…"

    @classmethod
    def issue(
        cls,
        comparison: Comparison,
        *,
        snapshot: dict[str, object],
        by: Person,
        seconds: float | None,
    ) -> str:
        """Make a link that lives for so long (None: until it is taken back); its token is kept
        nowhere."""
        token = secrets.token_urlsafe(32)
        cls.objects.create(
            comparison=comparison,
            digest=digest(token),
            prefix=token[:6],
            snapshot=snapshot,
            made_by=by,
            expires_at=None if seconds is None else timezone.now() + timedelta(seconds=seconds),
        )
        return token

    @property
    def is_live(self) -> bool:
        expired = self.expires_at is not None and self.expires_at <= timezone.now()
        return self.revoked_at is None and not expired

    @property
    def digest_of_copy(self) -> str:
        """Of the frozen part alone, however much is found out later."""
        frozen = json.dumps(self.snapshot, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(frozen.encode()).hexdigest()
