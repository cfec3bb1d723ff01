"""What a rule about a text is given: everything the text gave, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runs.engines.base import JSON, Event, Request, Sample, rank_tags

if TYPE_CHECKING:
    # Only a name here: readers stand on rules, not rules on readers.
    from runs.readers.results.base import ResultRow


@dataclass(frozen=True, slots=True)
class Part:
    """One life of a server, or a part of its log that a person set apart.

    `real`: another process, not merely a heading. `samples` are places in the paste's samples.
    """

    stream: tuple[str | None, str | None]
    real: bool
    served: bool
    failed: bool
    samples: tuple[int, ...]
    settings: dict[str, JSON]


@dataclass(frozen=True, slots=True)
class Paste:
    """A text as it was read.

    `elided`: it says that lines were left out. `looping`: words that it repeats again and again.
    `offsets_s`: carrier's stamp minus the server's own, in seconds, one for each line that has
    both. `late`: samples after the failed start of another server. `failures`: what clients said.
    """

    samples: tuple[Sample, ...]
    events: tuple[Event, ...]
    requests: tuple[Request, ...]
    rows: tuple[ResultRow, ...]
    parts: tuple[Part, ...]
    context: dict[str, JSON]
    damaged: int
    failures: tuple[str, ...]
    elided: bool
    looping: str | None
    offsets_s: tuple[float, ...]
    late: int

    @property
    def decodes(self) -> list[Sample]:
        return [each for each in self.samples if each.phase == "decode"]

    @property
    def prefills(self) -> list[Sample]:
        return [each for each in self.samples if each.phase == "prefill"]

    @property
    def intervals(self) -> list[Sample]:
        return [each for each in self.samples if each.phase == "interval"]

    def setting(self, row: ResultRow, name: str) -> JSON:
        """Give a setting of one row: its own, the text's, or the default of its tool."""
        if name in row.context:
            return row.context[name]
        if name in self.context:
            return self.context[name]
        return _default(row.context, name)

    def default(self, name: str) -> JSON:
        """Give what the client of the text does unless told otherwise."""
        return _default(self.context, name)

    def settings_of(self, part: Part | None) -> dict[str, JSON]:
        """Give a part's own settings of speculation, the text's when it has none of its own."""
        own = part.settings if part is not None else {}
        if any(key.startswith("spec_") for key in own):
            outer = {k: v for k, v in self.context.items() if not k.startswith("spec_")}
            return {**outer, **own}
        return {**self.context, **own}

    def rate_pairs(self) -> Iterator[tuple[list[tuple[float, float]], dict[str, JSON]]]:
        """Give (accept len, printed rate) of each part's decode lines, with its settings."""
        for part, own in self.by_part():
            pairs = [
                (each.accept_len, each.accept_rate)
                for each in own
                if each.phase == "decode"
                and each.accept_len is not None
                and each.accept_rate is not None
            ]
            if pairs:
                yield pairs, self.settings_of(part)

    def by_part(self) -> Iterator[tuple[Part | None, list[Sample]]]:
        """Give each part with its samples; None with all of them when nothing sets parts apart."""
        for part in self.parts:
            yield part, [self.samples[place] for place in part.samples]
        if not self.parts:
            yield None, list(self.samples)

    def part_samples(self) -> Iterator[list[Sample]]:
        """Give the samples of each part; all of them when nothing sets parts apart."""
        told = [own for _, own in self.by_part() if own]
        yield from told or [list(self.samples)]


# How vLLM names an engine that is alone, and the first of several.
LONE_ENGINE = "Engine 000"


def _default(context: Mapping[str, JSON], name: str) -> JSON:
    defaults = context.get("defaults")
    return defaults.get(name) if isinstance(defaults, dict) else None


def dp_rank(sample: Sample) -> int | None:
    return rank_tags(sample.rank).get("DP")


def real(value: object) -> float | None:
    """Give a number, None for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


_FIGURES = 4  # results that agree in so many figures, to the last digit, are one


def measured_once(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Give the results without exact copies of earlier ones: a copy is no repeat."""
    seen: set[str] = set()
    found = []
    for row in rows:
        figures = sorted((key, metric.value) for key, metric in row.metrics.items())
        key = repr([row.tool, row.name, row.concurrency, figures])
        if len(figures) < _FIGURES or key not in seen:
            found.append(row)
            seen.add(key)
    return found
