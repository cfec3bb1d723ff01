"""Caveats of a run or a comparison, and dismissing them."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status

from runs.access import get_dismissal
from runs.actions.dismiss import dismiss, undo_dismissal
from runs.actions.launch import Refused
from runs.api.comparisons import CaveatOut, DismissalOut
from runs.views.caveats import find_place
from runs.views.who import person

router = Router(tags=["caveats"])


class DismissIn(Schema):
    """``on`` is "run:7" or "comparison:3~4"; ``reason`` is kept beside the caveat."""

    on: str
    slug: str
    reason: str


class RefusedOut(Schema):
    detail: str


@router.get("", response=list[CaveatOut], summary="Of on=run:7 or on=comparison:3~4, worst first")
def read_caveats(request: HttpRequest, on: Annotated[str, Query()]) -> list[CaveatOut]:
    """Every remark of the rules with its severity, dismissal and tests."""
    return [CaveatOut.of(group) for group in find_place(on).groups]


@router.post(
    "/dismissals", response={201: DismissalOut, 422: RefusedOut}, summary="Dismiss with a reason"
)
def dismiss_caveat(request: HttpRequest, told: DismissIn) -> Status:
    """The caveat stays visible; a blocking one no longer forbids a verdict."""
    place = find_place(told.on)
    group = place.group(told.slug)
    try:
        kept = dismiss(on=place.thing(), slug=group.slug, reason=told.reason, by=person(request))
    except Refused as refused:
        return Status(422, {"detail": str(refused)})
    return Status(201, DismissalOut.of(kept))


@router.delete("/dismissals/{pk}", response={204: None}, summary="Take a dismissal back")
def undo(request: HttpRequest, pk: int) -> Status:
    """It stays readable that it was dismissed, and why."""
    undo_dismissal(dismissal=get_dismissal(pk), by=person(request))
    return Status(204, None)
