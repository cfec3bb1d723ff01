"""The decode lines of a run's log that its figures are read from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import cast

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Mod

from runs.charts import LAST, READ, TOLD, Line, Readings, readings
from runs.metrics.lines import BY_TIME
from runs.metrics.passes import SGLANG_PASSES
from runs.models import Arm, Attempt, Level, LogStream, Outline, Sample

INTERVAL_FLAG = "--decode-log-interval"
# A prime and a factor without a period in common with the pattern of decode and prefill lines.
_PRIME, _SPREAD = 10_007, 7_919
AT_ONCE = 5000  # rows read from the database at once


def is_speculative(arm: Arm) -> bool:
    config = arm.config
    flags = ("--speculative-algorithm", "--speculative-config")
    told = config.effective.get("num_speculative_tokens")
    return any(config.flags.get(flag) for flag in flags) or bool(told)


def decode_passes(arm: Arm) -> int:
    """Forward passes between two decode lines of SGLang."""
    told = arm.config.flags.get(INTERVAL_FLAG)
    return told if isinstance(told, int) and told > 0 else SGLANG_PASSES


def even_part(lines: QuerySet[Sample], part: float) -> QuerySet[Sample]:
    """About that share of the lines, evenly over a log; intervals are few and stay."""
    spread = lines.annotate(place=Mod(F("seq") * _SPREAD, _PRIME))
    return spread.filter(Q(place__lt=part * _PRIME) | Q(phase__in=BY_TIME))


def server_stream(attempt: Attempt | None) -> LogStream | None:
    if attempt is None:
        return None
    return attempt.streams.filter(role=LogStream.Role.SERVER).first()


def last_decode(stream: LogStream, n: int = LAST) -> list[Line]:
    lines = stream.samples.filter(phase__in=TOLD).order_by("-seq")
    return list(lines.values_list(*READ, named=True)[:n])


def level_readings(stream: LogStream, level: Level, *, speculative: bool) -> Readings | None:
    """The medians of the decode lines printed inside a level's window; ``None`` if there are none.

    Of a long log that is whole they are kept beside its outline: they cost seconds.
    """
    window = level.window
    start, end = (window.span.start, window.span.end) if window else (level.started, level.ended)
    if start is None or end is None:
        return None
    key = f"{start!r} {end!r} {speculative}"
    kept = Outline.objects.filter(stream=stream).first() if stream.complete else None
    if kept is not None and key in kept.medians:
        return Readings(**kept.medians[key])
    lines = stream.samples.filter(phase__in=TOLD, time__gte=start, time__lte=end)
    rows = lines.order_by("seq").values_list(*READ, named=True).iterator(AT_ONCE)
    told = readings(cast("Iterator[Line]", rows), speculative=speculative)
    if kept is not None:
        Outline.objects.filter(pk=kept.pk).update(medians={**kept.medians, key: asdict(told)})
    return told if told.lines or told.accept_len is not None else None
