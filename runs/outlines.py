"""A stream's samples in a bounded number of points, however many there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Max, QuerySet

from runs.charts import READ, columns
from runs.models import Campaign, LogStream, Outline, Sample
from runs.runlines import AT_ONCE, is_speculative, level_readings
from runs.thinning import DRAWN, SECOND, Row, Thinner

WORTH = 20_000  # samples behind a stored outline that are worth storing it anew
_ANY = 2**62  # greater than every number


class _Line:
    """A row by its names, for :func:`runs.charts.columns`."""

    __slots__ = READ

    def __init__(self, row: Row) -> None:
        for name, value in zip(READ, row, strict=True):
            setattr(self, name, value)


def thinned(stream: LogStream, *, most: int) -> dict[str, Any]:
    """All samples in at most ``most`` points where there are more: columns as of the cursor.

    ``last`` is the number of the newest sample looked at: what follows lies behind it. ``total``
    counts the samples that could be drawn, ``thinned`` says whether some are left out.
    """
    last = stream.samples.aggregate(last=Max("seq"))["last"] or 0
    if last <= most:
        rows = list(stream.samples.filter(seq__lte=last).order_by("seq").values_list(*READ))
        return {**_columns(rows), "last": last, "total": len(rows), "thinned": False}
    thinner = _outline(stream, last)
    if most < thinner.most:
        thinner.shrink(most)
    points = thinner.points()
    left_out = len(points) < thinner.total
    return {**_columns(points), "last": last, "total": thinner.total, "thinned": left_out}


def thinned_between(stream: LogStream, start: float, end: float, *, most: int) -> dict[str, Any]:
    """The same of the samples printed in [start, end], epoch seconds: finer the less they are."""
    inside = _drawn(stream).filter(time__gte=start, time__lte=end)
    thinner, exact = Thinner(most), list[Row]()
    for low, high in _numbers(stream, start, end):
        for rows in _read(inside.filter(seq__gte=low, seq__lte=high)):
            exact += rows[: most + 1 - len(exact)]
            thinner.take(rows)
    points = thinner.points() if len(exact) > most else exact
    last = points[-1][0] if points else 0
    total = thinner.total if len(exact) > most else len(exact)
    return {**_columns(points), "last": last, "total": total, "thinned": len(exact) > most}


def _numbers(stream: LogStream, start: float, end: float) -> list[tuple[int, int]]:
    """Ranges of numbers that hold all samples of a time: no index has the times themselves."""
    stored = Outline.objects.filter(stream=stream).first()
    if stored is None:
        return [(1, _ANY)]
    return [_restored(stored).between(start, end), (stored.upto + 1, _ANY)]


def prepare(campaign: Campaign) -> None:
    """Have what pages show of long logs ready before somebody asks."""
    streams = LogStream.objects.filter(attempt__run__campaign=campaign)
    for stream in streams.select_related("attempt__run__arm__config"):
        last = stream.samples.aggregate(last=Max("seq"))["last"] or 0
        if last < WORTH:
            continue
        _outline(stream, last)
        speculative = is_speculative(stream.attempt.run.arm)
        for level in stream.attempt.levels.all():
            level_readings(stream, level, speculative=speculative)


def _outline(stream: LogStream, last: int) -> Thinner:
    stored = Outline.objects.filter(stream=stream, upto__lte=last).first()
    thinner = Thinner() if stored is None else _restored(stored)
    for rows in _read(_drawn(stream).filter(seq__gt=thinner.upto, seq__lte=last)):
        thinner.take(rows)
    if thinner.upto >= WORTH + (stored.upto if stored else 0):
        told = {"upto": thinner.upto, "whole": thinner.whole, "state": thinner.state()}
        # two readers at a time store outlines that are both right
        Outline.objects.update_or_create(stream=stream, defaults=told)
    return thinner


def _restored(stored: Outline) -> Thinner:
    return Thinner(
        width=stored.state["width"],
        stretches=stored.state["stretches"],
        upto=stored.upto,
        whole=stored.whole,
    )


def _drawn(stream: LogStream) -> QuerySet[Sample]:
    return stream.samples.filter(phase__in=(*DRAWN, SECOND)).order_by("seq")


def _read(samples: QuerySet[Sample]) -> Iterator[list[Row]]:
    """Rows in pieces, so that memory does not grow with their number."""
    piece: list[Row] = []
    for row in samples.values_list(*READ).iterator(AT_ONCE):
        piece.append(row)
        if len(piece) == AT_ONCE:
            yield piece
            piece = []
    yield piece


def _columns(rows: list[Row]) -> dict[str, Any]:
    return {**columns([_Line(row) for row in rows]), "more": False}  # type: ignore[misc]
