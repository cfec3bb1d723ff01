"""Campaigns: all of them, and one with its grid of arms and levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from runs import access
from runs.actions.compare import comparison_key
from runs.actions.write_conclusion import write_conclusion
from runs.caveatrows import caveat_title
from runs.forms.conclusion import ConclusionForm
from runs.gaps import missing_of
from runs.grid import METRICS, build, headline, load
from runs.grid.logs import imported_lines, lines_only
from runs.grid.told import arms_told
from runs.models import Arm, Campaign, Caveat, Run
from runs.plans import taken_looks
from runs.views.notes import notes_rail
from runs.views.overview import summaries
from runs.views.parts import answer, is_htmx, live_part
from runs.views.who import person

PAGE = 25


@dataclass(frozen=True)
class Found:
    """A rule's remarks on the runs of a campaign: each told once, with the arms it is about."""

    title: str
    said: list[tuple[str, list[Arm]]]


@dataclass(frozen=True)
class Pair:
    """Arms that may be looked at side by side; ``key`` is what the comparison's address takes."""

    arms: tuple[Arm, ...]
    key: str


@require_safe
def campaign_list(request: HttpRequest) -> HttpResponse:
    pages = Paginator(Campaign.objects.whole().order_by("-opened_at", "-pk"), PAGE)
    page = pages.get_page(request.GET.get("page"))
    context = {"page": page, "summaries": summaries(list(page))}
    return render(request, "runs/campaign_list.html", context)


@require_safe
def campaign_detail(request: HttpRequest, pk: int) -> HttpResponse:
    campaign = access.get_campaign(pk)
    metric = METRICS.get(request.GET.get("metric", ""), METRICS["output"])
    (data,) = load([campaign])
    grid = build(data, metric)
    logs = imported_lines(data.runs)
    results = {
        "campaign": campaign,
        "grid": grid,
        "runs": data.runs,
        "failed": [run for run in data.runs if run.failed],
        "arms": data.arms,
        "told": [] if grid.rows else arms_told(data.arms),
        "pairs": _pairs(data.arms) if grid.has_values else [],
        "logs": logs,
        "looks": taken_looks(campaign),
    }
    live = any(not run.is_final for run in data.runs)
    part = live_part(request, "runs/_campaign.html", results, id="results", live=live)
    if alone := answer(request, part):
        return alone
    context = {
        "campaign": campaign,
        "arms": data.arms,
        "model": data.arms[0].config.model.rstrip("/").rpartition("/")[2] if data.arms else "",
        "results": part.html,
        "missing": missing_of(data.campaign, data.runs),
        "says": headline(build(data, METRICS["output"])) or lines_only(logs),
        "edit": ConclusionForm(instance=campaign) if "edit" in request.GET else None,
        "facts": _facts(campaign.facts),
        "caveats": _caveats(data.runs, data.arms),
        "rail": notes_rail(campaign),
    }
    return render(request, "runs/campaign_detail.html", context)


def _pairs(arms: Sequence[Arm]) -> list[Pair]:
    """The baseline with each other arm, and all together if there are more."""
    if len(arms) < 2:
        return []
    pairs = [Pair((arms[0], arm), comparison_key([arms[0], arm])) for arm in arms[1:]]
    if len(arms) > 2:
        pairs.append(Pair(tuple(arms[:6]), comparison_key(arms[:6])))
    return pairs


def _facts(told: dict[str, Any], above: str = "") -> list[tuple[str, str]]:
    """What an import tells beside figures, one line each; nested names are joined."""
    lines: list[tuple[str, str]] = []
    for name, value in told.items():
        if name.startswith("_"):
            continue  # for reading again, not for people
        words = f"{above} {name}".strip().replace("_", " ")
        if isinstance(value, dict):
            lines += _facts(value, words)
        else:
            lines.append((words, _plain(value)))
    return lines


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _caveats(runs: Sequence[Run], arms: Sequence[Arm]) -> list[Found]:
    """The remarks by rule. What a rule measured belongs to its arm: each arm's latest is told."""
    arm_of = {run.pk: run.arm_id for run in runs}
    by_slug: dict[str, dict[int, str]] = {}
    for caveat in Caveat.objects.filter(run__in=list(arm_of)).order_by("pk"):
        by_slug.setdefault(caveat.slug, {})[arm_of[caveat.run_id]] = caveat.text
    return [Found(caveat_title(slug), _by_text(told, arms)) for slug, told in by_slug.items()]


def _by_text(told: dict[int, str], arms: Sequence[Arm]) -> list[tuple[str, list[Arm]]]:
    found: dict[str, list[Arm]] = {}
    for arm in arms:
        if arm.pk in told:
            found.setdefault(told[arm.pk], []).append(arm)
    return list(found.items())


@require_http_methods(["GET", "POST"])
def campaign_conclusion(request: HttpRequest, pk: int) -> HttpResponse:
    """The slot under the question: shown, being edited, or changed."""
    campaign = access.get_campaign(pk)
    form = ConclusionForm(request.POST or None, instance=campaign)
    if request.method == "POST" and form.is_valid():
        write_conclusion(
            campaign=campaign, text=form.cleaned_data["conclusion"], by=person(request)
        )
        return _conclusion(request, campaign, None) if is_htmx(request) else redirect(campaign)
    if not is_htmx(request) and request.method == "GET":
        return redirect(f"{campaign.get_absolute_url()}?edit=conclusion")
    return _conclusion(request, campaign, form if "show" not in request.GET else None)


def _conclusion(
    request: HttpRequest, campaign: Campaign, form: ConclusionForm | None
) -> HttpResponse:
    (data,) = load([access.get_campaign(campaign.pk)])
    context = {
        "campaign": data.campaign,
        "says": headline(build(data, METRICS["output"])) or lines_only(imported_lines(data.runs)),
        "edit": form,
    }
    status = 422 if form is not None and form.errors else 200
    return render(request, "runs/_campaign_conclusion.html", context, status=status)
