"""A campaign's plan as people see it: its blocks and their cost before, its looks afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runs.comparisons import Compared
from runs.expected import minutes
from runs.metrics.blocks import interleaved
from runs.metrics.looking import planned_looks
from runs.models import Campaign


@dataclass(frozen=True)
class Block:
    """One launch of each arm, in order. ``look`` is the number of the look that follows it."""

    n: int
    arms: list[Any]
    minutes: int | None
    look: int | None


@dataclass(frozen=True)
class PlannedBlocks:
    """All of them. ``looks`` is how many looks there are; minutes are None where unknown."""

    blocks: list[Block]
    minutes: int | None
    looks: int

    @property
    def may_stop(self) -> bool:
        return self.looks > 1


def planned_blocks(
    arms: Sequence[Any], *, launches: int, looks: int, seconds: float | None
) -> PlannedBlocks:
    """``seconds`` is what one launch takes, if that is known."""
    at = planned_looks(launches, looks) if len(arms) > 1 else []
    each = minutes(None if seconds is None else seconds * len(arms))
    blocks = [
        Block(n, block, each, at.index(n) + 1 if n in at else None)
        for n, block in enumerate(interleaved(arms, launches), start=1)
    ]
    whole = minutes(None if seconds is None else seconds * len(arms) * launches)
    return PlannedBlocks(blocks, whole, len(at))


@dataclass(frozen=True)
class TakenLook:
    """What a look said. ``saved`` are minutes of launches that it made needless, if known."""

    n: int
    of: int
    launches: int
    text: str
    stopped: bool
    cancelled: int
    saved: int | None


def taken_looks(campaign: Campaign) -> list[TakenLook]:
    """In their order; none of a campaign that was planned without any."""
    return [
        TakenLook(
            n,
            len(campaign.looks),
            told["launches"],
            told["text"],
            told["stopped"],
            told["cancelled"],
            minutes(told["saved_s"]) if told["stopped"] else None,
        )
        for n, told in enumerate(campaign.looked, start=1)
    ]


def looks_of_comparison(compared: Compared) -> list[TakenLook]:
    """What the looks said, where all arms are of one campaign that planned several."""
    campaign = compared.base.arm.campaign
    alone = {side.arm.campaign_id for side in compared.sides} == {campaign.pk}
    return taken_looks(campaign) if alone and len(campaign.looks) > 1 else []
