"""Arms side by side: what differs, by how much, and how far that may be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from runs.access import NUMBER, NoSuchArms, get_arms
from runs.actions.compare import comparison_key
from runs.comparepage import MOST, comparison_page, others, unfolded
from runs.levellines import aligned_series, ttft_series
from runs.models import Arm, Campaign
from runs.sides import Side, sides_of, told_apart
from runs.suggestions import suggested
from runs.views.links import chart_words, exports_of, share_box
from runs.views.notes import notes_rail

SUGGESTED = 12
FOUND = 20  # arms of other campaigns to choose from
FOLDS = ("levels", "why")


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
    arms, wrong = based(arms, request.GET.get("base", ""))
    return render(request, "runs/compare.html", comparison_context(arms, request.GET, wrong))


@require_safe
def compare_fold(request: HttpRequest, of: str) -> HttpResponse:
    """``?arms=3~4~5&arm=C``: the levels of an arm that is not looked at, or why it is faster."""
    shown = unfolded(get_arms(request.GET.get("arms", "")), request.GET.get("arm", ""))
    if shown is None or of not in FOLDS:
        raise Http404("'arm' is the letter of an arm beside the baseline, a fold levels or why.")
    return render(request, "runs/_compare_unfolded.html", {**shown, "of": of})


@require_safe
def compare_lines(request: HttpRequest) -> JsonResponse:
    """``?arms=3~4&level=16``: the decode lines of that level, aligned."""
    sides, level = _at_level(request)
    return JsonResponse({"level": level, "arms": aligned_series(sides, level)})


@require_safe
def compare_ttft(request: HttpRequest) -> JsonResponse:
    """The same address for the TTFT of single requests."""
    sides, level = _at_level(request)
    return JsonResponse({"level": level, "arms": ttft_series(sides, level)})


def _at_level(request: HttpRequest) -> tuple[Sequence[Side], int]:
    level = request.GET.get("level", "")
    if not NUMBER.fullmatch(level):
        raise Http404("'level' is a number of clients.")
    return told_apart(sides_of(get_arms(request.GET.get("arms", "")))), int(level)


def based(arms: Sequence[Arm], base: str) -> tuple[Sequence[Arm], list[str]]:
    """``base=2`` puts the second arm first: a short way to write another order."""
    if not base:
        return arms, []
    if base not in {str(n) for n in range(1, len(arms) + 1)}:
        return arms, [f"base={base[:40]}"]
    first = arms[int(base) - 1]
    return [first, *(arm for arm in arms if arm is not first)], []


def choice(arms: Sequence[Arm], wanted: str | None) -> dict[str, Any]:
    """What may stand beside these arms: the campaign's own, and any other campaign's by name."""
    text = (wanted or "").strip()[:100]
    return {
        "arm": arms[0],
        "arms": arms,
        "key": comparison_key(arms),
        "others": others(arms),
        "suggested": [] if text or len(arms) > 1 else suggested(arms[0]),
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


def comparison_context(
    arms: Sequence[Arm], given: QueryDict | None = None, wrong: Sequence[str] = ()
) -> dict[str, Any]:
    """The page of these arms, with the notes on them beside it."""
    told = [(name, value) for name, values in given.lists() for value in values] if given else []
    page = comparison_page(arms, told, wrong)
    key = page["key"]
    rail = notes_rail(list(arms))
    sides = page["compared"].sides
    simulated = "SIMULATED. " if page["compared"].simulated else ""
    source = f"{simulated}Throughline, {reverse('compare')}?arms={key}, {timezone.now():%-d %b %Y}"
    return {
        **page,
        **share_box(key, arms, rail.notes),
        **chart_words([(side.letter, side.name) for side in sides], source),
        "rail": rail,
        "exports": exports_of(key),
    }
