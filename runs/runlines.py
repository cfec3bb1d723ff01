"""The decode lines of a run's log that its figures are read from."""

from __future__ import annotations

from runs.charts import LAST, READ, Line
from runs.models import Arm, Attempt, Level, LogStream, Sample


def is_speculative(arm: Arm) -> bool:
    return bool(arm.config.flags.get("--speculative-algorithm"))


def server_stream(attempt: Attempt | None) -> LogStream | None:
    if attempt is None:
        return None
    return attempt.streams.filter(role=LogStream.Role.SERVER).first()


def last_decode(stream: LogStream, n: int = LAST) -> list[Line]:
    lines = stream.samples.filter(phase=Sample.Phase.DECODE).order_by("-seq")
    return list(lines.values_list(*READ, named=True)[:n])


def in_window(stream: LogStream, level: Level) -> list[Line]:
    """The decode lines printed inside a level's window."""
    if level.started is None or level.ended is None:
        return []
    lines = stream.samples.filter(
        phase=Sample.Phase.DECODE, time__gte=level.started, time__lte=level.ended
    )
    return list(lines.values_list(*READ, named=True).order_by("seq"))
