"""Arms that one arm is most likely wanted beside, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from runs.models import Arm, Comparison

LOOKED_BACK = 100  # comparisons in which a baseline is looked for


def suggested(arm: Arm) -> list[tuple[str, Arm]]:
    """The arm it came from, its last baseline, and the same config elsewhere; none twice."""
    found: dict[int, tuple[str, Arm]] = {}
    for words, other in _candidates(arm):
        if other.pk != arm.pk:
            found.setdefault(other.pk, (words, other))
    return list(found.values())


def _candidates(arm: Arm) -> Iterator[tuple[str, Arm]]:
    whole = Arm.objects.select_related("campaign", "config", "workload", "host")
    parents = whole.filter(pk__in=arm.runs.exclude(rerun_of=None).values("rerun_of__arm"))
    for parent in parents.order_by("-pk")[:1]:
        yield "what it was rerun from", parent
    last = _last_baseline(arm)
    for baseline in whole.filter(pk=last) if last is not None else ():
        yield "its last baseline", baseline
    first = whole.filter(campaign=arm.campaign_id).order_by("position").first()
    if first is not None:
        yield "the campaign's baseline", first
    elsewhere = whole.filter(config=arm.config_id, campaign__importing_since=None)
    for same in elsewhere.exclude(host=arm.host_id).order_by("-pk")[:2]:
        yield f"the same config on {same.host}", same


def _last_baseline(arm: Arm) -> int | None:
    """Of the latest kept comparison in which this arm stood beside another."""
    for key in Comparison.objects.order_by("-pk").values_list("key", flat=True)[:LOOKED_BACK]:
        base, *others = key.split("~")
        if str(arm.pk) in others and base.isdigit():
            return int(base)
    return None
