"""The transactions of a long import: short ones, signs of life, and one that makes it whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from runs.models import Campaign, Import


class Overtaken(Exception):
    """Another worker has taken this import over: nothing more is written here."""


class Pieces:
    """Of an import that its caller waits for."""

    def hide(self, campaign: Campaign) -> None:
        """Told inside the transaction that makes the hidden campaign."""

    @contextmanager
    def piece(self, campaign: Campaign, read: int) -> Iterator[None]:
        """One piece of so many bytes: what it brings and the sign of life are one transaction."""
        with transaction.atomic():
            yield
            Campaign.objects.filter(pk=campaign.pk).update(importing_since=timezone.now())

    def whole(self, campaign: Campaign) -> None:
        """Told inside the last transaction which campaign came of it."""

    @contextmanager
    def last(self) -> Iterator[None]:
        """The transaction that makes it whole."""
        with transaction.atomic():
            yield


class JobPieces(Pieces):
    """Of an import that a worker carries out. Each transaction begins with a lock on its row.

    So a worker that was taken for dead writes nothing once another one has begun.
    """

    def __init__(self, job: Import) -> None:
        self.job = job

    def hide(self, campaign: Campaign) -> None:
        self._still_mine(half=campaign)

    @contextmanager
    def piece(self, campaign: Campaign, read: int) -> Iterator[None]:
        with super().piece(campaign, read):
            self._still_mine(position=F("position") + read)
            yield
            self._still_mine()

    def whole(self, campaign: Campaign) -> None:
        self._still_mine(campaign=campaign)

    @contextmanager
    def last(self) -> Iterator[None]:
        with super().last():
            self._still_mine()
            yield
            if not self.job.ended(Import.State.DONE, position=F("size"), half=None, error=""):
                raise Overtaken(str(self.job))

    def _still_mine(self, **values: object) -> None:
        if self.job.mine().update(heard_at=timezone.now(), **values) != 1:
            raise Overtaken(str(self.job))
