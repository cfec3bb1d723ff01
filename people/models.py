"""People and how they come in: by one-time links. No password exists anywhere."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone


class Person(AbstractUser):
    """A member of the team. Django's password field stays unusable."""


def digest(token: str) -> str:
    """What the database keeps of a token: enough to recognise it, nothing to use it."""
    return hashlib.sha256(token.encode()).hexdigest()


class SignInLink(models.Model):
    """A link that signs one person in once, for half an hour."""

    person = models.ForeignKey(Person, on_delete=models.CASCADE)
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    @classmethod
    def issue(cls, person: Person) -> str:
        """Make a link for ``person`` and return its token, which is kept nowhere."""
        token = secrets.token_urlsafe(32)
        life = timedelta(seconds=settings.DURATIONS.signin)
        cls.objects.create(person=person, digest=digest(token), expires_at=timezone.now() + life)
        return token

    @classmethod
    def redeem(cls, token: str) -> Person | None:
        """The person behind an unused, unexpired token, used up by this call; else ``None``."""
        now = timezone.now()
        fresh = cls.objects.filter(digest=digest(token), used_at=None, expires_at__gt=now)
        # guarded update: of two clicks on the same link exactly one finds it unused
        if fresh.update(used_at=now) != 1:
            return None
        return cls.objects.select_related("person").get(digest=digest(token)).person


class Submission(models.Model):
    """A form that somebody sent: sent once more, it leads to what it made the first time."""

    KEPT = timedelta(days=7)

    person = models.ForeignKey(Person, on_delete=models.CASCADE)
    key = models.CharField(max_length=64)  # a digest of the form's own mark and all it said
    address = models.CharField(max_length=200, blank=True)  # of what was made
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["person", "key"], name="people_submission_once"),
        )
