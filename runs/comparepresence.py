"""What a comparison does not have yet: levels in common, repeats that still run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runs.comparisons import Pair
from runs.expected import price_minutes
from runs.models import Run
from runs.sides import Side


@dataclass(frozen=True)
class Missing:
    """Two arms without a level in common: what each of them measured."""

    base: list[int]
    other: list[int]


def missing_of(pair: Pair) -> Missing | None:
    """None where one level at least can be compared, or nothing was measured at all."""
    base, other = pair.base.concurrencies, pair.other.concurrencies
    if set(base) & set(other) or not (base or other):
        return None
    return Missing(base, other)


@dataclass(frozen=True)
class Progress:
    """How far the launches of an arm are, while some of them still run or wait."""

    side: Side
    done: int
    of: int
    running: list[Run]
    minutes: int | None  # until all are through, as far as earlier launches tell


def progress_of(sides: Sequence[Side]) -> list[Progress]:
    """The arms that are not whole yet."""
    found = []
    for side in sides:
        waiting = [launch.run for launch in side.launches if not launch.run.is_final]
        if not waiting:
            continue
        each = price_minutes(side.arm, side.arm.host)
        minutes = None if each is None else each * len(waiting)
        of = len(waiting) + (0 if side.provisional else side.n)
        done = 0 if side.provisional else side.n
        found.append(Progress(side, done, of, [r for r in waiting if r.is_active], minutes))
    return found
