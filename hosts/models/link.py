"""The way to a host as it was last seen, and whether it may be tried at all."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Case, F, Value, When
from django.db.models.functions import Now

from hosts.models.host import Host
from hosts.transport.errors import (
    HostKeyChanged,
    KeyUnusable,
    LoginRefused,
    TransportError,
)
from hosts.transport.protocol import Target
from hosts.transport.sentences import NOTHING

TRIES = 3  # refused logins in a row, then a person is asked: more could lock the login out


class LinkState(models.TextChoices):
    """Stands beside the state of a run and never changes it."""

    OK = "ok", "connected"
    RECONNECTING = "reconnecting", "reconnecting"
    UNREACHABLE = "unreachable", "unreachable"
    LOGIN_REFUSED = "login-refused", "login refused"
    KEY_CHANGED = "key-changed", "key changed"

    @classmethod
    def of(cls, reason: str) -> Self:
        """What the reason of a transport error means for the link; "unreachable" takes time."""
        told = {LoginRefused.reason: cls.LOGIN_REFUSED, HostKeyChanged.reason: cls.KEY_CHANGED}
        return told.get(reason, cls.RECONNECTING)


def trouble(state: LinkState) -> Case:
    """Since when there is trouble, if it becomes ``state`` now: one trouble may have many faces."""
    return Case(When(link=LinkState.OK, then=Now()), default=F("link_since"))


def long_out() -> models.Q:
    """Rows that have been reconnecting for so long that they are to be called unreachable."""
    limit = Now() - timedelta(seconds=settings.DURATIONS.unreachable)
    return models.Q(link=LinkState.RECONNECTING, link_since__lt=limit)


def words_changed(state: LinkState, text: str) -> models.Q:
    """Rows that do not say so yet. What is unreachable stays so while it is tried again."""
    if state == LinkState.RECONNECTING:
        return ~models.Q(link__in=[LinkState.RECONNECTING, LinkState.UNREACHABLE])
    return ~models.Q(link=state, link_text=text)


def words(text: str) -> str:
    """A transport error's sentences, as they are true beside a run that is under way."""
    return text.replace(f"{NOTHING} ", "")[:600]


class HostLink(models.Model):
    """One row a host, written by whoever tries to connect.

    After another host key, or :data:`TRIES` refused logins, nobody connects until a person has
    done something: confirmed a key, changed the login, or said "try again".
    """

    host = models.OneToOneField(Host, on_delete=models.CASCADE, related_name="link")
    link = models.CharField(max_length=20, choices=LinkState, default=LinkState.OK)
    link_since = models.DateTimeField(null=True)
    link_text = models.CharField(max_length=600, blank=True)
    refusals = models.PositiveSmallIntegerField(default=0)
    expected = models.JSONField(default=list)  # fingerprints, if the key has changed
    offered = models.CharField(max_length=100, blank=True)
    tried_with = models.CharField(max_length=64, blank=True)  # the target, as a hash
    # the jump host at which the last trouble was, counted along the way; none: the host itself
    hop = models.PositiveSmallIntegerField(null=True)

    def __str__(self) -> str:
        return f"{self.host} {self.get_link_display()}"

    @property
    def asks_a_person(self) -> bool:
        """Whether nothing is tried any more until somebody has acted."""
        return self.link == LinkState.KEY_CHANGED or self.refusals >= TRIES

    @property
    def at(self) -> Host:
        """Whose key or login it is about: a jump host's, or the host's own."""
        way = self.host.way()
        return self.host if self.hop is None or self.hop >= len(way) else way[self.hop]

    @classmethod
    def saw(cls, host: int, target: Target, error: TransportError | None) -> None:
        """Note how a try to connect ended; ``None``: well."""
        rows = cls.objects.filter(host=host)
        if error is None:
            rows.exclude(link=LinkState.OK, refusals=0).update(
                link=LinkState.OK, link_since=Now(), link_text="", refusals=0
            )
            return
        state, text = LinkState.of(error.reason), words(error.message)
        cls.objects.get_or_create(host_id=host)
        rows.exclude(hop=error.hop).update(hop=error.hop)
        if isinstance(error, LoginRefused) and not isinstance(error, KeyUnusable):
            known = When(tried_with=digest(target), then=F("refusals") + 1)
            rows.update(refusals=Case(known, default=Value(1)), tried_with=digest(target))
        if isinstance(error, HostKeyChanged):
            rows.update(
                expected=list(error.expected),
                offered=error.offered or "",
                tried_with=digest(target),
            )
        rows.filter(words_changed(state, text)).update(
            link=state, link_since=trouble(state), link_text=text
        )

    @classmethod
    def barrier(cls, host: int, target: Target) -> TransportError | None:
        """The error to raise in place of a try that must not be made."""
        row = cls.objects.filter(host=host, tried_with=digest(target)).first()
        if row is None or not row.asks_a_person:
            return None
        return row._remembered()

    def _remembered(self) -> TransportError:
        """The error that was met, with the hop at which it was."""
        error: TransportError = LoginRefused(self.link_text)
        if self.link == LinkState.KEY_CHANGED:
            expected, offered = tuple(self.expected), self.offered or None
            error = HostKeyChanged(self.link_text, expected=expected, offered=offered)
        error.hop = self.hop
        return error

    @classmethod
    def age(cls) -> None:
        """Call unreachable what has been reconnecting for too long."""
        cls.objects.filter(long_out()).update(link=LinkState.UNREACHABLE)


def digest(target: Target) -> str:
    """Two targets with the same digest are tried in the same way. Names files, holds no secret."""
    return hashlib.sha256(repr(target).encode()).hexdigest()
