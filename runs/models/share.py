"""Comparisons that were kept, and links to frozen copies of them."""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
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
        links = self.filter(digest=digest(token), revoked_at=None, expires_at__gt=now)
        return links.first()


class ShareLink(models.Model):
    """A read-only page of a frozen comparison, for people without an account.

    ``snapshot`` was built from an allow-list when the link was made; the page shows nothing else.
    The token (256 bit) is shown once and kept as its SHA-256.
    """

    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="links")
    digest = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=8)
    snapshot = models.JSONField()
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    made_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

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
    def issue(cls, comparison: Comparison, *, snapshot: dict[str, object], by: Person) -> str:
        """Make a link and return its token, which is kept nowhere."""
        token = secrets.token_urlsafe(32)
        cls.objects.create(
            comparison=comparison,
            digest=digest(token),
            prefix=token[:6],
            snapshot=snapshot,
            made_by=by,
            expires_at=timezone.now() + timedelta(seconds=settings.DURATIONS.share),
        )
        return token

    @property
    def is_live(self) -> bool:
        return self.revoked_at is None and self.expires_at > timezone.now()
