"""What the charts of a comparison draw, and their tables say: plain values, for page and copy.

Pure: sides and pairs come in, numbers go out. A value that is not known is ``None``, never zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, Protocol

from runs.metrics.estimate import mean_interval
from runs.metrics.ledger import Ledger
from runs.metrics.noise import Noise
from runs.metrics.verdict import Judgement

# Flags that say over how many GPUs one server is spread; each engine has one name of a row.
SPREAD = (
    ("--tp", "--tp-size", "--tensor-parallel-size", "-tp"),
    ("--dp", "--dp-size", "--data-parallel-size", "-dp"),
    ("--pp", "--pp-size", "--pipeline-parallel-size", "-pp"),
)
# SGLang spreads its data parallel ranks over the GPUs that it has already
DP_ATTENTION = "--enable-dp-attention"


class Measured(Protocol):
    """A side of a comparison, as far as its chart needs it."""

    @property
    def name(self) -> str: ...
    @property
    def letter(self) -> str: ...
    @property
    def provisional(self) -> bool: ...
    @property
    def limit(self) -> int | None: ...
    @property
    def flags(self) -> dict[str, Any]: ...
    @property
    def concurrencies(self) -> list[int]: ...

    def values(self, metric: str, concurrency: int) -> list[float]: ...
    def mean(self, metric: str, concurrency: int) -> float | None: ...


class Explained(Protocol):
    """The ledger of one level, and the passes per second of each launch of both arms."""

    @property
    def concurrency(self) -> int: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def steps(self) -> tuple[list[float], list[float]]: ...


Key = tuple[str, int]  # an arm's letter and a concurrency


def comparison_series(
    sides: Sequence[Measured],
    noise: Callable[[int], Noise | None] = lambda _: None,
    gains: Iterable[tuple[str, str, Sequence[Explained]]] = (),
) -> list[dict[str, Any]]:
    """One entry per arm: its points by concurrency, means over launches and each launch.

    ``gains`` are ledgers with the letters of their two arms. ``even`` of a point is the accept
    len at which its arm would be no faster than the baseline.
    """
    steps: dict[Key, float | None] = {}
    even: dict[Key, float | None] = {}
    for base, other, levels in gains:
        for level in levels:
            for letter, told in zip((base, other), level.steps, strict=True):
                steps[letter, level.concurrency] = sum(told) / len(told) if told else None
            even[other, level.concurrency] = level.ledger.break_even
    return [
        {
            "name": side.name,
            "letter": side.letter,
            "provisional": side.provisional,
            "limit": side.limit,
            "gpus": gpus_of(side.flags),
            "points": [
                {
                    **_point(side, c, noise(c)),
                    "steps": steps.get((side.letter, c)),
                    "even": even.get((side.letter, c)),
                }
                for c in side.concurrencies
            ],
        }
        for side in sides
    ]


def gpus_of(flags: dict[str, Any]) -> int | None:
    """Over how many GPUs a server with these flags is spread; None where none of them says it."""
    found = [next((flags[name] for name in row if name in flags), None) for row in SPREAD]
    if DP_ATTENTION in flags:
        found[1] = None
    known = [each for each in found if isinstance(each, int) and each > 0]
    return prod(known) if known else None


def _point(side: Measured, concurrency: int, noise: Noise | None) -> dict[str, Any]:
    output = side.values("output_tps", concurrency)
    known = [value for value in output if value > 0]
    reach = mean_interval(known, noise) if len(known) == len(output) else None
    mean, gpus = side.mean("output_tps", concurrency), gpus_of(side.flags)
    return {
        "c": concurrency,
        "output": mean,
        "low": reach[0] if reach else None,
        "high": reach[1] if reach else None,
        "user": side.mean("user_tps", concurrency),
        "gpu": mean / gpus if mean is not None and gpus else None,
        "accept": side.mean("accept_len", concurrency),
        "launches": output,
    }


def front(series: Sequence[dict[str, Any]], key: str) -> list[tuple[str, int]]:
    """The points that no other point beats in both speed per user and ``key``: letter and level.

    Of what is shown: points that were left out before cannot hold others back.
    """
    points = [
        (side["letter"], point["c"], point["user"], point[key])
        for side in series
        for point in side["points"]
        if point["user"] is not None and point[key] is not None
    ]
    best = [
        one
        for one in points
        if not any(
            other[2] >= one[2] and other[3] >= one[3] and other[2:] != one[2:] for other in points
        )
    ]
    return [(letter, c) for letter, c, _, _ in sorted(best, key=lambda each: each[2])]


def change_series(pairs: Iterable[tuple[str, str, Judgement]]) -> list[dict[str, Any]]:
    """Of each arm against the baseline: its change with interval by level, as ratios less one."""
    return [
        {
            "name": name,
            "letter": letter,
            "delta": judged.delta,
            "points": [
                {
                    "c": level.concurrency,
                    "change": level.ratio - 1,
                    "low": None if level.low is None else level.low - 1,
                    "high": None if level.high is None else level.high - 1,
                    "word": level.text,
                }
                for level in judged.levels
                if level.ratio is not None
            ],
        }
        for name, letter, judged in pairs
    ]
