"""A long log's few points, kept so that nobody waits for them twice."""

from __future__ import annotations

from django.db import models

from runs.models.log import LogStream


class Outline(models.Model):
    """What :class:`runs.thinning.Thinner` made of a stream up to a sample. A cache: it may go."""

    stream = models.OneToOneField(LogStream, on_delete=models.CASCADE, related_name="outline")
    upto = models.BigIntegerField()  # number of the last sample in it
    whole = models.BigIntegerField()  # drawn samples in it
    medians = models.JSONField(default=dict)  # of levels, by their windows
    state = models.JSONField()  # of the thinner, without the stretch that is not whole

    def __str__(self) -> str:
        return f"outline of {self.stream} up to {self.upto}"
