"""What people decided about hosts. Rows are added, never changed."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from hosts.models.host import Host


class HostEvent(models.Model):
    """Who decided what, when, and why they said they did."""

    class Kind(models.TextChoices):
        FREED = "freed", "freed from quarantine"
        TAKEN_OVER = "taken-over", "taken over from another installation"
        KEY_CONFIRMED = "key-confirmed", "host key confirmed"
        EDITED = "edited", "edited"
        TRY_AGAIN = "try-again", "login to be tried again"

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="events")
    kind = models.CharField(max_length=20, choices=Kind)
    text = models.TextField(blank=True)
    note = models.TextField(blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-at", "-pk"]

    def __str__(self) -> str:
        return f"{self.host}: {self.get_kind_display()}"
