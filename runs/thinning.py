"""A long log in few points: of every stretch the samples that have a minimum or a maximum.

Pure. Each point is a sample that was printed, with its place in the log; none is a mean. So a spike
survives at any length. The state can be stored and taken up again behind its last sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from runs.charts import READ

Row = Sequence[Any]  # the values of :data:`runs.charts.READ`
DRAWN = ("decode", "interval", "iteration", "request")  # a line of these tells a speed
SECOND = "spec_interval"  # says more of the line before it
MOST = 4000  # points of one answer
FIRST_WIDTH = 32  # samples of a stretch at first; it doubles whenever there are too many points

_TIME = READ.index("time")
_SEQ, _PHASE, _ACCEPT = READ.index("seq"), READ.index("phase"), READ.index("accept_len")
_SERIES = tuple(
    READ.index(name)
    # the time too: so a stretch tells between which times it was printed
    for name in ("time", "output_tps", "accept_len", "running", "waiting", "token_usage")
)


@dataclass
class Thinner:
    """Takes rows in the order of their numbers and gives at most ``most`` points (20 or more)."""

    most: int = MOST
    width: int = FIRST_WIDTH  # drawn samples in one stretch
    stretches: list[list[Row]] = field(default_factory=list)
    upto: int = 0  # number of the last sample in a whole stretch
    whole: int = 0  # drawn samples in whole stretches
    rest: list[Row] = field(default_factory=list)

    def take(self, rows: Iterable[Row]) -> None:
        rest = self.rest
        for row in rows:
            phase = row[_PHASE]
            if phase == SECOND:
                if rest and rest[-1][_ACCEPT] is None:
                    rest[-1] = (*rest[-1][:_ACCEPT], row[_ACCEPT], *rest[-1][_ACCEPT + 1 :])
                continue
            if phase not in DRAWN:
                continue
            if len(rest) == self.width:  # only now: what comes between may say more of the last
                self._close()
                rest = self.rest
            rest.append(row)

    @property
    def total(self) -> int:
        """Drawn samples so far."""
        return self.whole + len(self.rest)

    def points(self) -> list[Row]:
        """What is drawn: the extremes of each stretch, the first sample and the last."""
        told = [row for stretch in self.stretches for row in stretch]
        if self.rest:
            told += extremes(self.rest, first=not self.stretches, last=True)
        return told

    def between(self, start: float, end: float) -> tuple[int, int]:
        """Numbers around all whole stretches that may hold a time in [start, end]; 0, 0: none."""
        inside = [i for i, rows in enumerate(self.stretches) if _may_hold(rows, start, end)]
        if not inside:
            return 0, 0
        first, behind = inside[0], inside[-1] + 1
        low = self.stretches[first - 1][-1][_SEQ] + 1 if first else 1
        high = self.stretches[behind][0][_SEQ] - 1 if behind < len(self.stretches) else self.upto
        return low, high

    def state(self) -> dict[str, Any]:
        """All but the stretch that is not whole, as JSON."""
        return {"width": self.width, "stretches": [[list(r) for r in s] for s in self.stretches]}

    def _close(self) -> None:
        self.stretches.append(extremes(self.rest, first=not self.stretches))
        self.upto, self.whole = self.rest[-1][_SEQ], self.whole + len(self.rest)
        self.rest = []
        self.shrink(self.most)

    def shrink(self, most: int) -> None:
        """Make stretches longer until all points are at most ``most``."""
        room = most - 2 * len(_SERIES) - 2  # the last stretch's points come on top
        while sum(map(len, self.stretches)) > room and len(self.stretches) > 1:
            self._double()

    def _double(self) -> None:
        old, self.width = self.stretches, self.width * 2
        pairs = [list(chain(*old[i : i + 2])) for i in range(0, len(old), 2)]
        self.stretches = [extremes(pair, first=not i) for i, pair in enumerate(pairs)]


def _may_hold(rows: Sequence[Row], start: float, end: float) -> bool:
    times = [row[_TIME] for row in rows if row[_TIME] is not None]
    return not times or (max(times) >= start and min(times) <= end)


def extremes(rows: Sequence[Row], *, first: bool = False, last: bool = False) -> list[Row]:
    """The rows with the least and the greatest value of each series, in order."""
    chosen = {0} if first else set()
    if last:
        chosen.add(len(rows) - 1)
    columns = list(zip(*rows, strict=True))
    for at in _SERIES:
        column = columns[at]
        known = [value for value in column if value is not None]
        if known:
            chosen.add(column.index(min(known)))
            chosen.add(column.index(max(known)))
    if not chosen and rows:
        chosen.add(0)
    return [rows[i] for i in sorted(chosen)]
