"""Which lines of a server's log belong to which client run.

A client that flushes the server's cache leaves one event before each of its runs: where there are
as many of them as rows, the n-th run begins at the n-th flush and lasts as long as its row says.
In a text that holds both, a run's lines stand between the end of the row before it and its own.
"""

import math
from calendar import timegm
from collections.abc import Sequence
from datetime import datetime
from statistics import fmean

from runs.engines.base import Event, Sample
from runs.intake.plan import Window
from runs.metrics.acceptance import level_accept_len
from runs.readers.results.base import ResultRow

_FAR = 2**62
BUSY = 0.95  # of the clients' concurrency: ramp and drain are no steady state


def printed_seconds(time: str | None) -> float | None:
    """Give a printed stamp as seconds, as if its clock were UTC; None without a date."""
    if not time or len(time.split("T")[0]) != 10:
        return None
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return None
    return timegm(moment.timetuple()) + moment.microsecond / 1e6


def windows(
    rows: Sequence[ResultRow], events: Sequence[Event], samples: Sequence[Sample], *, same: bool
) -> dict[int, Window]:
    """Give a window by the place of its row. `same`: rows and log stand in one text."""
    flushes = [event for event in events if event.kind == "flush_ok"]
    if rows and len(flushes) == len(rows):
        return _flushed(rows, flushes)
    return _between(rows, samples) if same else {}


def _flushed(rows: Sequence[ResultRow], flushes: Sequence[Event]) -> dict[int, Window]:
    found = {}
    ends = [*(event.line for event in flushes[1:]), _FAR]
    for place, (row, event, end) in enumerate(zip(rows, flushes, ends, strict=True)):
        start, lasted = printed_seconds(event.time), row.value("duration_s")
        known = start is not None and lasted is not None
        stop = start + math.ceil(lasted) + 1.0 if known and start and lasted else None
        found[place] = Window(event.line, end, start, stop, flushed=True)
    return found


def _between(rows: Sequence[ResultRow], samples: Sequence[Sample]) -> dict[int, Window]:
    found, begin = {}, 0
    for place, row in enumerate(rows):
        own = [s for s in samples if s.phase == "decode" and begin < s.line < row.line]
        if own and row.concurrency is not None:
            found[place] = Window(begin + 1, row.line, None, None, flushed=False)
        begin = row.line
    return found


def inside(window: Window, samples: Sequence[Sample]) -> list[Sample]:
    """Give the decode lines of a window."""
    return [
        each
        for each in samples
        if each.phase == "decode"
        and window.begin <= each.line < window.end
        and _before(each, window.stop)
    ]


def busy(lines: Sequence[Sample], concurrency: int | None) -> Sequence[Sample]:
    """Give the lines with nearly the whole concurrency in the server; all, if there are none."""
    enough = BUSY * (concurrency or 0)
    full = [each for each in lines if (each.running or 0) + (each.waiting or 0) >= enough]
    return full or lines


def _before(sample: Sample, stop: float | None) -> bool:
    at = printed_seconds(sample.time) if stop is not None else None
    return at is None or stop is None or at <= stop


def client_accept_len(row: ResultRow, window: Window | None) -> float | None:
    """Give a point's accept len as the client printed it, where that is the run's.

    The client of SGLang prints the server's mean since its counters began; behind a flush that is
    the run's mean.
    """
    own, mean = row.value("accept_len"), row.value("accept_len_cumulative")
    if own is not None:
        return own
    if window is not None and window.flushed and mean is not None:
        return mean
    told = row.context.get("accept_len_run")
    return float(told) if isinstance(told, int | float) else None


def accept_len(row: ResultRow, window: Window | None, lines: Sequence[Sample]) -> float | None:
    """Give a point's accept len: the client's own, else the log's.

    Where nothing better is known the mean since the counters began is taken too: a caveat says
    what it is.
    """
    by_client = client_accept_len(row, window)
    if by_client is not None:
        return by_client
    by_log = level_accept_len(lines)
    return by_log if by_log is not None else row.value("accept_len_cumulative")


def mean_of(values: Sequence[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
