"""A comparison of arms, the first of them the baseline."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest
from ninja import Query, Router, Schema

from runs.access import get_arms
from runs.comparisons import Compared, Pair, compare_arms
from runs.differences import caveats, differences

router = Router(tags=["comparisons"])


class ChangeOut(Schema):
    """One metric at one concurrency. ``ratio`` is after over before, ``change`` ratio − 1."""

    concurrency: int
    metric: str
    before: float | None
    after: float | None
    ratio: float | None
    change: float | None
    launches_before: int
    launches_after: int


class DifferenceOut(Schema):
    key: str
    before: str
    after: str
    group: str
    why: str


class PairOut(Schema):
    base: int
    other: int
    sentence: str
    provisional: bool
    levels: list[ChangeOut]
    differences: list[DifferenceOut]


class ArmOut(Schema):
    id: int
    name: str
    host: str
    simulated: bool
    launches: int
    running_limit: int | None


class CaveatOut(Schema):
    slug: str
    where: str
    texts: list[str]


class CompareOut(Schema):
    arms: list[ArmOut]
    pairs: list[PairOut]
    caveats: list[CaveatOut]


@router.get("", response=CompareOut, summary="Arms side by side, such as ?arms=3~4")
def read_comparison(
    request: HttpRequest, arms: Annotated[str, Query(pattern=r"^\d{1,18}(~\d{1,18}){1,5}$")]
) -> CompareOut:
    """Every arm against the first: changes by concurrency, differing keys, caveats."""
    return compare_out(compare_arms(get_arms(arms)))


def compare_out(compared: Compared) -> CompareOut:
    return CompareOut(
        arms=[
            ArmOut(
                id=side.arm.pk,
                name=side.name,
                host=side.arm.host.name,
                simulated=side.arm.host.simulated,
                launches=side.n,
                running_limit=side.limit,
            )
            for side in compared.sides
        ],
        pairs=[pair_out(pair) for pair in compared.pairs],
        caveats=[
            CaveatOut(slug=group.slug, where=group.where, texts=group.texts)
            for group in caveats(compared)
        ],
    )


def pair_out(pair: Pair) -> PairOut:
    found, _ = differences(pair)
    return PairOut(
        base=pair.base.arm.pk,
        other=pair.other.arm.pk,
        sentence=pair.sentence,
        provisional=pair.provisional,
        levels=[
            ChangeOut(**{name: getattr(change, name) for name in ChangeOut.model_fields})
            for change in pair.changes
        ],
        differences=[
            DifferenceOut(**{name: getattr(row, name) for name in DifferenceOut.model_fields})
            for row in found
        ],
    )
