"""The values a grid is made of. Tokens per second; ratios, not percent."""

from __future__ import annotations

from dataclasses import dataclass

from runs.metrics.compare import SMALL
from runs.models import Arm, Run


@dataclass(frozen=True)
class Metric:
    """A column of Level, and what people call it."""

    key: str
    field: str
    label: str


METRICS = {
    "output": Metric("output", "output_tps", "Output tok/s"),
    "user": Metric("user", "user_tps", "tok/s per user"),
}


@dataclass(frozen=True)
class Launch:
    """One launch's value at a level; ``x`` (0 to 64) is its place in a drawing of its own."""

    run: Run
    value: float
    x: float


@dataclass(frozen=True)
class Cell:
    """An arm at a level.

    ``kind`` is measured, running, waiting, queued, failed, cancelled or absent. A measured cell may
    be ``provisional`` (further launches are to come) and have a launch ``progress`` (0 to 1) on it.
    ``lead`` is "" or how this arm is ahead here: "apart" (its launches do not overlap with the
    next arm's) or "hint". Neither is a verdict; that comes from one function for all pages.
    ``tone`` is better or worse than the baseline, "" below what matters or where it is not known.
    """

    arm: Arm
    concurrency: int
    kind: str
    value: float | None
    ratio: float | None
    launches: tuple[Launch, ...]
    provisional: bool
    progress: float | None
    text: str
    run: Run | None
    lead: str
    edited: bool  # somebody moved the window of one of the launches

    @property
    def tone(self) -> str:
        if self.ratio is None or abs(self.ratio - 1) < SMALL:
            return ""
        return "better" if self.ratio > 1 else "worse"


@dataclass(frozen=True)
class Column:
    """An arm above its cells: its limit, its launches, and what keeps it from being compared."""

    arm: Arm
    limit: int | None
    launches: str
    other_host: bool
    differs: str

    @property
    def comparable(self) -> bool:
        return not self.differs


@dataclass(frozen=True)
class Row:
    """A level. ``capped``: fewer requests ran than were offered, in some arm."""

    concurrency: int
    cells: tuple[Cell, ...]
    capped: bool
    crossover: str


@dataclass(frozen=True)
class Grid:
    metric: Metric
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    counts: str

    @property
    def baseline(self) -> Column | None:
        return self.columns[0] if self.columns else None

    @property
    def has_values(self) -> bool:
        return any(cell.value is not None for row in self.rows for cell in row.cells)

    @property
    def has_capped(self) -> bool:
        return any(row.capped for row in self.rows)
