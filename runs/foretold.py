"""What a proposal foretold, kept with its run, against what the run then measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from runs.expected import LevelExpected
from runs.metrics.prediction import Range
from runs.models import Level, Run, State

LOOKED_BACK = 200  # runs with a prediction


@dataclass(frozen=True)
class Foretold:
    """A figure that was foretold with its 80 % interval, and the measured one, if there is one."""

    told: Range
    observed: float | None

    @property
    def inside(self) -> bool | None:
        """Whether it lies in the interval; ``None`` while nothing is measured."""
        return None if self.observed is None else self.told.holds(self.observed)

    @property
    def word(self) -> str:
        if self.inside is None:
            return "not measured yet"
        if self.inside:
            return "as foretold"
        return "above" if (self.observed or 0.0) > self.told.high else "below"

    @property
    def off(self) -> float | None:
        """Measured by foretold: 1.04 where it is 4 % more."""
        return None if self.observed is None else self.observed / self.told.value


@dataclass(frozen=True)
class LevelForetold:
    """One level of a run: ``steps`` are the numbers of draft steps that had been measured."""

    concurrency: int
    steps: list[int]
    accept_len: Foretold
    output_tps: Foretold


@dataclass(frozen=True)
class Record:
    """At how many levels output tok/s was foretold and measured, and lay in its interval."""

    levels: int
    inside: int


def as_rows(expected: Sequence[LevelExpected]) -> list[dict[str, Any]]:
    """What is kept in ``Run.predicted``: plain values, so that a later formula changes none."""
    return [
        {
            "concurrency": each.concurrency,
            "measured": list(each.told.measured),
            "accept_len": asdict(each.told.accept_len),
            "output_tps": asdict(each.told.output_tps),
        }
        for each in expected
    ]


def foretold(run: Run, levels: Sequence[Level]) -> list[LevelForetold]:
    """``levels`` are those of the run's newest attempt."""
    done = {level.concurrency: level for level in levels if level.state == Level.State.DONE}
    rows = []
    for row in run.predicted:
        level = done.get(row["concurrency"])
        rows.append(
            LevelForetold(
                concurrency=row["concurrency"],
                steps=row["measured"],
                accept_len=Foretold(
                    Range(**row["accept_len"]), level.accept_len if level else None
                ),
                output_tps=Foretold(
                    Range(**row["output_tps"]), level.output_tps if level else None
                ),
            )
        )
    return rows


def track_record() -> Record:
    """How often predictions held so far; it tells how much the next one is worth."""
    runs = (
        Run.objects.filter(state=State.SUCCEEDED)
        .exclude(predicted=[])
        .prefetch_related("attempts__levels")
        .order_by("-pk")[:LOOKED_BACK]
    )
    held: list[bool] = []
    for run in runs:
        newest = max(run.attempts.all(), key=lambda attempt: attempt.n, default=None)
        rows = foretold(run, list(newest.levels.all()) if newest else [])
        held += [row.output_tps.inside for row in rows if row.output_tps.inside is not None]
    return Record(len(held), sum(held))
