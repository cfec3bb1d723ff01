"""Arms side by side: what differs, by how much, and how far that may be trusted."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.access import get_arms
from runs.actions.compare import comparison_key
from runs.actions.launch import why_no_load, why_not_launchable
from runs.charts import comparison_series
from runs.comparisons import Compared, Pair, compare_arms
from runs.differences import (
    Difference,
    chips,
    commands,
    coverage,
    differences,
)
from runs.expected import expected_of_steps, price_minutes
from runs.gains import why
from runs.models import Arm, Campaign, Comparison, ShareLink
from runs.views.notes import notes_rail

MOST = 6  # arms beside each other; more cannot be told apart
SUGGESTED = 12
SHOWN = 3  # caveats before the fold


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """The comparison of ``?arms=3~4``, the first of them the baseline; without it, suggestions."""
    key = request.GET.get("arms", "")
    if not key:
        return render(request, "runs/compare_choose.html", {"campaigns": suggestions()})
    arms = get_arms(key)
    if len(arms) < 2:
        return render(request, "runs/compare_choose.html", {"arm": arms[0], "others": others(arms)})
    return render(request, "runs/compare.html", comparison_context(arms))


def suggestions() -> list[Campaign]:
    """The latest campaigns in which something can be compared."""
    latest = Campaign.objects.whole().prefetch_related("arms__host").order_by("-opened_at", "-pk")
    return [campaign for campaign in latest[:50] if len(campaign.arms.all()) > 1][:SUGGESTED]


def others(arms: list[Arm] | Any) -> list[Arm]:
    """The campaign's arms that are not in the comparison yet."""
    taken = [arm.pk for arm in arms]
    return list(arms[0].campaign.arms.exclude(pk__in=taken))


def comparison_context(arms: Any) -> dict[str, Any]:
    compared = compare_arms(arms)
    standing = [group for group in compared.caveats if group.dismissal is None]
    dismissed = [group for group in compared.caveats if group.dismissal is not None]
    key = comparison_key(arms)
    return {
        "key": key,
        "compared": compared,
        "campaign": arms[0].campaign,
        "swap": swapped(key),
        "add": [(arm, f"{key}~{arm.pk}") for arm in others(arms)] if len(arms) < MOST else [],
        "chips": chips(compared),
        "caveats": standing[:SHOWN],
        "more_caveats": standing[SHOWN:],
        "dismissed": dismissed,
        "pairs": [PairView(pair) for pair in compared.pairs],
        "coverage": coverage(compared),
        "commands": commands(compared),
        "series": comparison_series(compared.sides),
        "rail": notes_rail(list(arms)),
        "next": next_steps(compared),
        "links": share_links(key),
    }


class PairView:
    """A pair with what differs in its configs and why one is faster; computed once."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.capped = [row.concurrency for row in pair.rows if row.capped]
        self.why = why(pair.base, pair.other, [row.concurrency for row in pair.rows], self.capped)
        self.differences: list[Difference]
        self.differences, self.keys = differences(pair)


def swapped(key: str) -> str:
    """The second arm as the baseline, the others behind it."""
    first, second, *rest = key.split("~")
    return "~".join([second, first, *rest])


def next_steps(compared: Compared) -> dict[str, Any] | None:
    """The obvious rerun: one speculative step more than the highest arm has, with its price."""
    flag = "--speculative-num-steps"
    known = [s for s in compared.sides if isinstance(s.arm.config.flags.get(flag), int)]
    if not known:
        return None
    top = max(known, key=lambda side: side.arm.config.flags[flag])
    if why_not_launchable(top.arm.config) or why_no_load(top.arm.workload):
        return None
    steps = top.arm.config.flags[flag] + 1
    minutes = price_minutes(top.arm, top.arm.host)
    return {
        "arm": top.arm,
        "steps": steps,
        "set": f"{flag}={steps}",
        "minutes": minutes,
        "expected": expected_of_steps(top.arm, steps),
    }


def share_links(key: str) -> list[ShareLink]:
    kept = Comparison.objects.filter(key=key).first()
    return list(kept.links.order_by("-pk").select_related("made_by")) if kept else []
