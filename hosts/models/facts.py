"""What a probe found on a machine."""

from __future__ import annotations

from django.db import models

from hosts.models.host import Host


class HostFacts(models.Model):
    """The node kit's ``facts`` answer, whole; the latest one per host."""

    host = models.OneToOneField(Host, on_delete=models.CASCADE, related_name="facts")
    data = models.JSONField()
    probed_at = models.DateTimeField()

    @property
    def gpu_words(self) -> str:
        """GPUs in one line, or why none are listed."""
        gpus = self.data.get("gpus") or []
        if not gpus:
            return self.data.get("gpu_note") or "no GPU telemetry"
        names = sorted({gpu["name"] for gpu in gpus})
        return f"{len(gpus)} × {', '.join(names)}"

    @property
    def engine_words(self) -> str:
        found = self.data.get("engines") or []
        return ", ".join(
            f"{e['name']} {e['version']}{' (simulated)' if e.get('simulated') else ''}"
            for e in found
        )
