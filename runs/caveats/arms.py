"""What rules about a comparison are given: one entry for each arm, the baseline first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArmFacts:
    """One arm. None is unknown, and an unknown thing differs from nothing.

    `starts` are when its launches began, epoch seconds. `repeated` is how often the level that
    was measured most often stands in one launch. `hit_rates` and `output_lens` (tokens a request)
    are by concurrency. `environment` names what surrounds the server: host, GPU, driver, engine,
    version, image. `accept_definition` is how its accept rate is defined.
    """

    name: str
    launches: int
    starts: tuple[float, ...] = ()
    repeated: int = 1
    overlap: bool | None = None
    accept_definition: str | None = None
    hit_rates: Mapping[int, float] | None = None
    output_lens: Mapping[int, float] | None = None
    environment: Mapping[str, str] | None = None
    lines: int = 0
    lines_waiting: int = 0


def shared(one: Mapping[int, float] | None, two: Mapping[int, float] | None) -> list[int]:
    """Levels of which both tell."""
    return sorted(set(one or {}) & set(two or {}))


@dataclass(frozen=True, slots=True)
class Gap:
    """How far apart an arm's value at one level is from the baseline's."""

    size: float
    level: int
    arm: ArmFacts
    one: float  # of the baseline
    two: float  # of the arm


def widest(
    arms: Sequence[ArmFacts],
    values: Callable[[ArmFacts], Mapping[int, float] | None],
    apart: Callable[[float, float], float],
) -> Gap | None:
    """Where an arm is farthest from the baseline; None if they share no level."""
    base = values(arms[0]) or {}
    gaps = []
    for arm in arms[1:]:
        own = values(arm) or {}
        for level in shared(base, own):
            size = apart(base[level], own[level])
            gaps.append(Gap(size, level, arm, base[level], own[level]))
    return max(gaps, key=lambda gap: gap.size, default=None)
