"""Arms side by side: what differs, by how much, and how far that may be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.access import NoSuchArms, get_arms
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
from runs.excerpts import excerpts
from runs.expected import expected_of_steps, price_minutes
from runs.gains import why
from runs.models import Arm, Campaign, Comparison, ShareLink
from runs.views.links import exports_of
from runs.views.notes import notes_rail

MOST = 6  # arms beside each other; more cannot be told apart
SUGGESTED = 12
FOUND = 20  # arms of other campaigns to choose from
SHOWN = 3  # caveats before the fold


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """The comparison of ``?arms=3~4``, the first of them the baseline; without it, suggestions."""
    key = request.GET.get("arms", "")
    if not key:
        return render(request, "runs/compare_choose.html", {"campaigns": suggestions()})
    try:
        arms = get_arms(key)
    except NoSuchArms as missing:
        context = {"missing": missing, "campaigns": suggestions()}
        return render(request, "runs/compare_choose.html", context, status=404)
    if len(arms) < 2 or ("find" in request.GET and len(arms) < MOST):
        return render(request, "runs/compare_choose.html", choice(arms, request.GET.get("find")))
    return render(request, "runs/compare.html", comparison_context(arms))


def choice(arms: Sequence[Arm], wanted: str | None) -> dict[str, Any]:
    """What may stand beside these arms: the campaign's own, and any other campaign's by name."""
    text = (wanted or "").strip()[:100]
    return {
        "arm": arms[0],
        "arms": arms,
        "key": comparison_key(arms),
        "others": others(arms),
        "find": text,
        "elsewhere": [(other, _apart(arms[0], other)) for other in elsewhere(arms, text)],
    }


def elsewhere(arms: Sequence[Arm], text: str) -> list[Arm]:
    """Arms of other campaigns, the latest first; without a word to look for, of the same model."""
    found = (
        Arm.objects.filter(campaign__importing_since=None)
        .exclude(campaign__in={arm.campaign_id for arm in arms[:1]})
        .exclude(pk__in=[arm.pk for arm in arms])
        .select_related("campaign", "config", "workload", "host")
        .order_by("-campaign__opened_at", "-campaign_id", "position")
    )
    for word in text.split()[:6]:
        found = found.filter(
            Q(name__icontains=word)
            | Q(campaign__question__icontains=word)
            | Q(config__model__icontains=word)
            | Q(host__name__icontains=word)
        )
    if text:
        return list(found[:FOUND])
    model = _model(arms[0])
    alike = [arm for arm in found[: 10 * FOUND] if _model(arm) == model]
    return (alike or list(found[:FOUND]))[:FOUND]


def _model(arm: Arm) -> str:
    return PurePosixPath(arm.config.model).name


def _apart(one: Arm, other: Arm) -> list[str]:
    """What of another campaign's arm is not this one's."""
    ours, theirs = one.workload.settings(), other.workload.settings()
    told = [
        ("other model", _model(one) != _model(other)),
        ("other engine", one.config.engine != other.config.engine),
        ("other host", one.host_id != other.host_id),
        ("other workload", ours != theirs),
    ]
    return [words for words, differs in told if differs]


def suggestions() -> list[Campaign]:
    """The latest campaigns with an arm."""
    latest = Campaign.objects.whole().prefetch_related("arms__host").order_by("-opened_at", "-pk")
    return [campaign for campaign in latest[:50] if campaign.arms.all()][:SUGGESTED]


def others(arms: Sequence[Arm]) -> list[Arm]:
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
        "campaigns": list({arm.campaign_id: arm.campaign for arm in arms}.values()),
        "swap": swapped(key),
        "add": [(arm, f"{key}~{arm.pk}") for arm in others(arms)] if len(arms) < MOST else [],
        "more": len(arms) < MOST,
        "chips": chips(compared),
        "caveats": standing[:SHOWN],
        "more_caveats": standing[SHOWN:],
        "dismissed": dismissed,
        "pairs": [PairView(pair) for pair in compared.pairs],
        "coverage": coverage(compared),
        "excerpts": excerpts(compared.sides),
        "commands": commands(compared),
        "series": comparison_series(compared.sides),
        "rail": notes_rail(list(arms)),
        "next": next_steps(compared),
        "links": share_links(key),
        "exports": exports_of(key),
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
