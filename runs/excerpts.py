"""The lines of an import's short log, beside the figures of its client.

A paste of a few lines has no window and no level, so its lines are told one by one; of whole logs
levels and ledger tell more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runs.metrics.acceptance import strict_rate
from runs.models import LogStream, Sample
from runs.sides import DRAFT_TOKENS, Side

MOST = 12  # lines; a longer log is no excerpt
_READ = ("phase", "running", "waiting", "output_tps", "accept_len", "accept_rate", "graph")


@dataclass(frozen=True)
class ExcerptLine:
    """One line as the engine printed it; ``strict_rate`` is drafts accepted per draft proposed."""

    phase: str
    running: int | None
    waiting: int | None
    output_tps: float | None
    accept_len: float | None
    accept_rate: float | None
    graph: bool | None
    strict_rate: float | None


@dataclass(frozen=True)
class Excerpt:
    """A side's lines, and how many more there were that could not be read whole."""

    side: Side
    lines: list[ExcerptLine]
    damaged: int

    @property
    def name(self) -> str:
        return self.side.name

    @property
    def letter(self) -> str:
        return self.side.letter

    @property
    def active(self) -> str:
        """Whether the drafts of a server with speculation are accepted, as its lines show it."""
        lengths = [line.accept_len for line in self.lines if line.accept_len is not None]
        if not lengths or max(lengths) <= 1:
            return ""
        told = f"{min(lengths):.2f}"
        if max(lengths) != min(lengths):
            told += f" to {max(lengths):.2f}"
        return f"Speculation is active: accept len {told}."


def excerpts(sides: Sequence[Side]) -> list[Excerpt]:
    """Those of the sides that are imports with a short log. One query for each of them."""
    found = [_excerpt(side) for side in sides]
    return [excerpt for excerpt in found if excerpt is not None]


def _excerpt(side: Side) -> Excerpt | None:
    streams = [
        stream
        for launch in side.counted
        if launch.run.imported and launch.attempt
        for stream in launch.attempt.streams.all()
        if stream.role == LogStream.Role.SERVER
    ]
    if not 0 < sum(stream.lines for stream in streams) <= MOST:
        return None
    told = Sample.objects.filter(stream__in=[stream.pk for stream in streams])
    rows = list(told.order_by("stream", "seq").values(*_READ))
    drafts = side.arm.config.flags.get(DRAFT_TOKENS)
    drafts = drafts if type(drafts) is int else None
    return Excerpt(
        side,
        [ExcerptLine(**row, strict_rate=_strict(row["accept_len"], drafts)) for row in rows],
        sum(stream.damaged for stream in streams),
    )


def _strict(accept_len: float | None, drafts: int | None) -> float | None:
    return strict_rate(accept_len, drafts) if accept_len is not None and drafts else None
