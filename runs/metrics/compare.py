"""Two arms level by level: the two values, their ratio, the change."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from runs.metrics.catalogue import METRICS

SMALL = 0.02  # a change below 2 % is neither better nor worse


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """What one launch measured at one concurrency: metric key to value in its base unit."""

    concurrency: int
    values: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class LevelChange:
    """One metric at one concurrency. What was not measured is None, and so is all it leads to.

    `before` and `after` are means over launches, `launches_…` how many there were. `change` is
    ratio − 1.
    """

    concurrency: int
    metric: str
    before: float | None
    after: float | None
    ratio: float | None
    change: float | None
    launches_before: int
    launches_after: int


def compare_levels(
    before: Iterable[LevelFigures], after: Iterable[LevelFigures]
) -> list[LevelChange]:
    """Compare by concurrency, ascending, then in the catalogue's order; unknown metrics last."""
    left, right = _by_level(before), _by_level(after)
    changes: list[LevelChange] = []
    for concurrency in sorted({key[0] for key in (*left, *right)}):
        found = {key[1] for key in (*left, *right) if key[0] == concurrency}
        for metric in [key for key in METRICS if key in found] + sorted(found - METRICS.keys()):
            key = concurrency, metric
            changes.append(_change(key, left.get(key, []), right.get(key, [])))
    return changes


def of_metric(changes: Iterable[LevelChange], metric: str) -> list[LevelChange]:
    """Pick one metric's changes, by ascending concurrency."""
    return [change for change in changes if change.metric == metric]


def _by_level(figures: Iterable[LevelFigures]) -> dict[tuple[int, str], list[float]]:
    found: dict[tuple[int, str], list[float]] = defaultdict(list)
    for level in figures:
        for metric, value in level.values.items():
            values = found[level.concurrency, metric]
            if value is not None:
                values.append(value)
    return found


def _change(key: tuple[int, str], left: list[float], right: list[float]) -> LevelChange:
    before, after = _mean(left), _mean(right)
    ratio = after / before if before and after is not None and before > 0 else None
    return LevelChange(
        concurrency=key[0],
        metric=key[1],
        before=before,
        after=after,
        ratio=ratio,
        change=None if ratio is None else ratio - 1,
        launches_before=len(left),
        launches_after=len(right),
    )


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
