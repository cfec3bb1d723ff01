"""One level of every arm, second by second: decode lines from where its window began, and TTFT.

Both are read when somebody looks at them: they are the only figures of a comparison that need the
lines of logs or the records of single requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import F, IntegerField, Max, Min, QuerySet
from django.db.models.functions import Cast

from runs.actions.levelrequests import requests_of
from runs.models import Level, LogStream, Sample
from runs.sides import Launch, Side

MOST_POINTS = 400  # of one line on the screen
MOST_READ = 10_000  # lines of one level; of more the database tells the extremes
MOST_LOADS = 12  # launches whose requests are read for one answer
_DRAWN = (Sample.Phase.DECODE, Sample.Phase.INTERVAL)


def aligned_series(sides: Sequence[Side], concurrency: int) -> list[dict[str, Any]]:
    """Of each arm the launch in the middle: output tok/s of its lines by seconds.

    They are counted from where its window began, else from the level's start. ``steady`` is the
    second at which the window ended, ``ends`` that of the level's end; None is not known.
    """
    found = []
    for side in sides:
        chosen = _in_the_middle(side, concurrency)
        if chosen is None:
            continue
        launch, level = chosen
        began = level.window_start if level.window_start is not None else level.started or 0.0
        told = _lines(launch, level)
        found.append(
            {
                "letter": side.letter,
                "name": side.name,
                "run": launch.run.pk,
                "x": [round(time - began, 3) for time, _ in told],
                "y": [value for _, value in told],
                "steady": None if level.window_end is None else round(level.window_end - began, 3),
                "ends": None if level.ended is None else round(level.ended - began, 3),
            }
        )
    return found


def _in_the_middle(side: Side, concurrency: int) -> tuple[Launch, Level] | None:
    """The launch whose figure is the median: one that stands for its arm."""
    measured = [
        (level.output_tps or 0.0, launch.run.pk, launch, level)
        for launch in side.counted
        for level in launch.measured
        if level.concurrency == concurrency and level.started is not None and launch.attempt
    ]
    measured.sort(key=lambda each: each[:2])
    return measured[(len(measured) - 1) // 2][2:] if measured else None


def _lines(launch: Launch, level: Level) -> list[tuple[float, float]]:
    told = Sample.objects.filter(
        stream__attempt=launch.attempt,
        stream__role=LogStream.Role.SERVER,
        phase__in=_DRAWN,
        time__gte=level.started,
        output_tps__isnull=False,
    )
    if level.ended is not None:
        told = told.filter(time__lte=level.ended)
        if told.count() > MOST_READ:
            return _stretches(told, level.started or 0.0, level.ended)
    rows = [
        (time, tps)
        for time, tps in told.order_by("time", "pk").values_list("time", "output_tps")
        if time is not None and tps is not None
    ]
    return _thinned(rows)


def _stretches(told: QuerySet[Sample], began: float, ended: float) -> list[tuple[float, float]]:
    """The lowest and the highest line of equal stretches, found by the database.

    They are drawn at their stretch's ends, not at their own times: a level has 200 of them. SQLite
    cuts a number off where PostgreSQL rounds it: there the first and the last are half as long.
    """
    width = (ended - began) / (MOST_POINTS // 2 - 1)
    part = Cast((F("time") - began) / width, IntegerField())
    found = told.annotate(part=part).values_list("part").order_by("part")
    extremes = found.annotate(
        first=Min("time"), low=Min("output_tps"), last=Max("time"), high=Max("output_tps")
    )
    points = [((first, low), (last, high)) for _, first, low, last, high in extremes]
    return [point for pair in points for point in dict.fromkeys(pair)]


def _thinned(rows: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Of every stretch the lowest and the highest line, so that a spike stays."""
    if len(rows) <= MOST_POINTS:
        return list(rows)
    width = -(-2 * len(rows) // MOST_POINTS)
    kept: list[tuple[float, float]] = []
    for at in range(0, len(rows), width):
        part = rows[at : at + width]
        ends = {min(part, key=lambda row: row[1]), max(part, key=lambda row: row[1])}
        kept += sorted(ends)
    return kept


def ttft_series(sides: Sequence[Side], concurrency: int) -> list[dict[str, Any]]:
    """Of each arm the TTFT of its requests in seconds, ascending, launch by launch.

    Empty where no driver stored its requests: a tool's summary has none of them.
    """
    found = []
    each = max(1, MOST_LOADS // max(1, len(sides)))
    for side in sides:
        launches = [
            (launch, level)
            for launch in side.counted
            for level in launch.measured
            if level.concurrency == concurrency and launch.attempt
        ][:each]
        read = [(launch.run.pk, _ttft(level)) for launch, level in launches]
        known = [
            {"run": run, "ttft": _quantiles(values), "requests": len(values)}
            for run, values in read
            if values
        ]
        if known:
            found.append({"letter": side.letter, "name": side.name, "launches": known})
    return found


def _ttft(level: Level) -> list[float]:
    requests = requests_of(level)
    return sorted(each.first - each.send for each in requests if each.first is not None)


def _quantiles(values: list[float]) -> list[float]:
    """All of a few hundred, else as many evenly chosen ones, both ends among them."""
    if len(values) <= MOST_POINTS:
        return [round(value, 5) for value in values]
    last = len(values) - 1
    places = (round(i * last / (MOST_POINTS - 1)) for i in range(MOST_POINTS))
    return [round(values[place], 5) for place in places]
