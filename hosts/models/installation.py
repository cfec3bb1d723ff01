"""This installation of Throughline, as nodes know it."""

from __future__ import annotations

import uuid

from django.db import models


class Installation(models.Model):
    """One row. ``fence`` is the last token given: each grant has a higher one than all before.

    A node refuses orders of another installation than the one it belongs to.
    """

    uid = models.UUIDField(default=uuid.uuid4, editable=False)
    fence = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(pk=1), name="hosts_installation_is_one")
        ]

    def __str__(self) -> str:
        return str(self.uid)

    @classmethod
    def current(cls) -> Installation:
        return cls.objects.get_or_create(pk=1)[0]

    @classmethod
    def locked(cls) -> Installation:
        """The row, held until the transaction ends: who decides about leases decides alone."""
        cls.current()
        return cls.objects.select_for_update().get(pk=1)

    def next_fence(self, past: int = 0) -> int:
        """A token above all that were given, and above ``past``. Only on the locked row."""
        self.fence = max(self.fence, past) + 1
        self.save(update_fields=["fence"])
        return self.fence
