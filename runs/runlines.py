"""The decode lines of a run's log that its figures are read from."""

from __future__ import annotations

from runs.charts import LAST, READ, TOLD, Line
from runs.models import Arm, Attempt, Level, LogStream


def is_speculative(arm: Arm) -> bool:
    config = arm.config
    flags = ("--speculative-algorithm", "--speculative-config")
    told = config.effective.get("num_speculative_tokens")
    return any(config.flags.get(flag) for flag in flags) or bool(told)


def server_stream(attempt: Attempt | None) -> LogStream | None:
    if attempt is None:
        return None
    return attempt.streams.filter(role=LogStream.Role.SERVER).first()


def last_decode(stream: LogStream, n: int = LAST) -> list[Line]:
    lines = stream.samples.filter(phase__in=TOLD).order_by("-seq")
    return list(lines.values_list(*READ, named=True)[:n])


def in_window(stream: LogStream, level: Level) -> list[Line]:
    """The decode lines printed inside a level's window."""
    if level.started is None or level.ended is None:
        return []
    lines = stream.samples.filter(phase__in=TOLD, time__gte=level.started, time__lte=level.ended)
    return list(lines.values_list(*READ, named=True).order_by("seq"))
