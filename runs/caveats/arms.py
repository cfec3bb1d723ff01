"""What rules about a comparison are given: one entry for each arm, the baseline first."""

from collections.abc import Mapping
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
