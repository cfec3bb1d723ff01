"""What one text gave: samples, events, requests, results, and what could not be read."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from runs.caveats.base import Finding
from runs.engines.base import JSON, Damaged, Event, Request, Sample
from runs.readers.offer import offer
from runs.readers.results.base import ResultRow

Kind: TypeAlias = Literal[
    "sglang-log", "vllm-log", "llamacpp-log", "trtllm-log", "bench-result", "mixed", "unknown"
]


@dataclass(frozen=True, slots=True)
class Row:
    """One benchmark point: output tok/s, all clients together and per user; None: not measured."""

    arm: str
    concurrency: int | None
    user_tps: float | None
    output_tps: float | None
    offset: int
    line: int


@dataclass(frozen=True, slots=True)
class Segment:
    """One life of a server, or a part of its log that a person set apart.

    `samples` are places in the reading's samples; `told` is what the exchange form says of it.
    """

    samples: tuple[int, ...]
    told: dict[str, JSON]


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything one text gave. `ignored_lines` are lines that gave nothing and are no damage.

    `context` are settings that stand in the text itself; nothing in it is a default. `results` hold
    every metric of a row, `rows` the same points in short. `derived` are values worth showing.
    """

    name: str
    kind: Kind
    samples: tuple[Sample, ...]
    events: tuple[Event, ...]
    damaged: tuple[Damaged, ...]
    rows: tuple[Row, ...]
    ignored_lines: int
    caveats: tuple[Finding, ...]
    context: dict[str, JSON]
    requests: tuple[Request, ...]
    results: tuple[ResultRow, ...]
    segments: tuple[Segment, ...]
    derived: dict[str, JSON]

    @property
    def offer(self) -> str | None:
        """The comparison that would tell more than this text."""
        return offer(self)

    def as_json(self) -> dict[str, JSON]:
        """Give the exchange form: latencies in ms, throughput in tokens/s, fractions."""
        from runs.readers.answer import answer  # it stands on this module

        return answer(self)


def short_rows(results: tuple[ResultRow, ...], name: str) -> tuple[Row, ...]:
    """Give results as rows: who, at which concurrency, how fast."""
    return tuple(
        Row(
            arm=arm_of(row) or name,
            concurrency=row.concurrency,
            user_tps=_first(row, "user_tps", "user_tps_mean", "user_tps_p50"),
            output_tps=row.value("output_tps"),
            offset=row.offset,
            line=row.line,
        )
        for row in results
    )


def arm_of(row: ResultRow) -> str | None:
    """Give what the text itself calls the arm of a row: its name, tag, label or steps."""
    if row.name:
        return row.name
    for key in ("tag", "label", "variant"):
        value = row.context.get(key)
        if isinstance(value, str) and value:
            return value
    steps = row.context.get("spec_num_steps")
    return f"steps={steps}" if isinstance(steps, int) else None


def _first(row: ResultRow, *keys: str) -> float | None:
    return next((row.value(key) for key in keys if row.value(key) is not None), None)
