"""What the GPUs did while a run lasted."""

from __future__ import annotations

from django.db import models

from runs.models.log import LogStream


class GpuSample(models.Model):
    """One GPU at one instant, in one wide row. What the driver does not tell is null.

    ``seq`` counts the rows of a stream from 1 without a gap: the live page's cursor. ``slowed`` is
    a set of bits, see :data:`runs.drivers.gpu_records.SLOWED`. The only index is that of the
    cursor: a window is found by reading a run's rows, and every further index costs each row.
    """

    stream = models.ForeignKey(
        LogStream, on_delete=models.CASCADE, related_name="gpu_samples", db_index=False
    )
    seq = models.BigIntegerField()
    time = models.FloatField()  # epoch seconds, the node's clock
    gpu = models.SmallIntegerField()
    sm_mhz = models.IntegerField(null=True)
    memory_mhz = models.IntegerField(null=True)
    power_w = models.FloatField(null=True)
    power_limit_w = models.FloatField(null=True)
    temperature_c = models.SmallIntegerField(null=True)
    utilization = models.FloatField(null=True)  # a share
    memory_bytes = models.BigIntegerField(null=True)
    slowed = models.IntegerField(null=True)
    ecc = models.BigIntegerField(null=True)
    strangers = models.IntegerField(null=True)
    strangers_bytes = models.BigIntegerField(null=True)
    offset = models.BigIntegerField()

    class Meta:
        ordering = ["seq"]
        constraints = [
            models.UniqueConstraint(fields=["stream", "seq"], name="runs_gpusample_seq"),
        ]

    def __str__(self) -> str:
        return f"GPU {self.gpu}, {self.seq}"
