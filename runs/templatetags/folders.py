"""Run folders on a node that this database does not know."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from django import template

from runs.models import Run

register = template.Library()


@register.simple_tag
def foreign_folders(facts: Any) -> dict[str, Any]:
    """``seen``, ``more`` and ``runs`` (name, at, alive) of a host's facts; empty: never asked."""
    told = facts.get("run_folders") if isinstance(facts, dict) else None
    if not isinstance(told, dict):
        return {}
    listed = [each for each in told.get("runs") or [] if isinstance(each, dict)]
    ours = _known([str(each.get("name")) for each in listed])
    foreign = [
        {"name": each["name"], "at": _time(each.get("at")), "alive": bool(each.get("alive"))}
        for each in listed
        if str(each.get("name")) not in ours
    ]
    return {"seen": _time(told.get("seen")), "more": told.get("more") or 0, "runs": foreign}


def _known(names: list[str]) -> set[str]:
    wanted = []
    for name in names:
        try:
            wanted.append(uuid.UUID(name))
        except ValueError:
            continue  # no run of any Throughline is called so
    return {str(uid) for uid in Run.objects.filter(uid__in=wanted).values_list("uid", flat=True)}


def _time(told: Any) -> datetime | None:
    return datetime.fromtimestamp(told, UTC) if isinstance(told, int | float) else None
