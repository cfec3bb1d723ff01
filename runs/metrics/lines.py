"""From a log's decode and interval lines to :class:`Line`: what each of them spans.

No length is taken from the stamps: see `passes`.
"""

from collections.abc import Iterable
from typing import Protocol

from runs.engines.base import rank_tags
from runs.metrics.passes import VLLM_SECONDS, Line

# Lines whose speed is a mean over equal times; all others span equally many passes.
INTERVAL, DRAFTS = "interval", "spec_interval"
BY_TIME = (INTERVAL, DRAFTS)
TOLD = ("decode", *BY_TIME)


class Row(Protocol):
    """A line as it is stored; `time` is epoch seconds."""

    @property
    def phase(self) -> str: ...
    @property
    def time(self) -> float | None: ...
    @property
    def rank(self) -> str: ...
    @property
    def running(self) -> int | None: ...
    @property
    def output_tps(self) -> float | None: ...
    @property
    def accept_len(self) -> float | None: ...


def is_by_time(rows: Iterable[Row]) -> bool:
    """Whether the lines span equal times rather than equally many passes."""
    return any(row.phase in BY_TIME for row in rows)


def seconds_of(row: Row, passes: int) -> float:
    """How long a line spans, 0.0 where it does not tell."""
    if row.phase in BY_TIME:
        return VLLM_SECONDS
    if not row.output_tps or not row.running:
        return 0.0
    return passes * row.running * (row.accept_len or 1.0) / row.output_tps


def by_passes(rows: Iterable[Row], passes: int) -> list[Line]:
    """SGLang's lines. Ranks of one DP group repeat one batch: the first that printed counts."""
    first: dict[int, str] = {}
    lines = []
    for row in rows:
        group = rank_tags(row.rank).get("DP", 0)
        if first.setdefault(group, row.rank) != row.rank:
            continue
        if row.time is None or not row.output_tps or not row.running:
            continue
        seconds = seconds_of(row, passes)
        lines.append(
            Line(row.time, seconds, row.output_tps, row.running, row.accept_len, f"DP{group}")
        )
    return lines


def by_seconds(rows: Iterable[Row]) -> list[Line]:
    """vLLM's interval lines, each with the accept len of the drafts line that follows it."""
    lines: list[Line] = []
    for row in rows:
        if row.time is None:
            continue
        if row.phase == DRAFTS and lines and row.accept_len is not None:
            last = lines[-1]
            if last.accept_len is None and row.time - last.time < VLLM_SECONDS:
                lines[-1] = Line(
                    last.time, last.seconds, last.output_tps, last.running, row.accept_len
                )
        elif row.phase == INTERVAL and row.output_tps and row.running:
            lines.append(Line(row.time, VLLM_SECONDS, row.output_tps, row.running, row.accept_len))
    return lines
