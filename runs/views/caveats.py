"""Answers to caveats: dismiss one with a reason, take that back, test it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from people.once import once
from runs import access
from runs.actions.compare import keep_comparison
from runs.actions.dismiss import dismiss, undo_dismissal
from runs.actions.experiments import Plan, plan_experiment, start_experiment
from runs.actions.launch import Refused
from runs.answers import answers
from runs.caveatgroups import CaveatGroup, caveat_groups
from runs.comparisons import Compared, compare_arms
from runs.expected import price_minutes
from runs.forms.arms import laid_out
from runs.forms.note import parse_anchor
from runs.models import Comparison, Run
from runs.sides import Side, side_of_run
from runs.views.who import person


@dataclass(frozen=True)
class Place:
    """Where a caveat is shown: on a run, or on a comparison of arms."""

    name: str  # "run:7", "comparison:3~4"
    sides: list[Side]
    groups: list[CaveatGroup]
    run: Run | None
    compared: Compared | None

    @property
    def address(self) -> str:
        if self.run is not None:
            return self.run.get_absolute_url()
        return f"/compare/?arms={self.name.partition(':')[2]}#caveats"

    @property
    def words(self) -> str:
        if self.run is not None:
            return str(self.run)
        return " against ".join(side.name for side in self.sides[::-1])

    def group(self, slug: str) -> CaveatGroup:
        """Raises Http404 when the rule has nothing to remark here."""
        for group in self.groups:
            if group.slug == slug:
                return group
        raise Http404("No such caveat is found here.")

    def thing(self) -> Run | Comparison:
        """What answers hang on; a comparison is kept from now on."""
        if self.run is not None:
            return self.run
        return keep_comparison(arms=[side.arm for side in self.sides])


def find_place(on: str) -> Place:
    """Read "run:7" or "comparison:3~4". Raises Http404."""
    try:
        kind, key = parse_anchor(on)
    except ValueError:
        raise Http404("Caveats stand on runs and comparisons.") from None
    if kind == "run":
        run = access.get_run(int(key))
        side = side_of_run(run)
        return Place(on, [side], caveat_groups([side], answers(runs=[run.pk])), run, None)
    if kind == "comparison":
        compared = compare_arms(access.get_arms(key))
        return Place(on, compared.sides, compared.caveats, None, compared)
    raise Http404("Caveats stand on runs and comparisons.")


@require_http_methods(["GET", "POST"])
def caveat_dismiss(request: HttpRequest) -> HttpResponse:
    """GET shows the caveat and asks for a reason; POST keeps it."""
    data = request.POST if request.method == "POST" else request.GET
    place = find_place(data.get("on", ""))
    group = place.group(data.get("slug", ""))
    error = ""
    if request.method == "POST":
        try:
            reason = data.get("reason", "")
            dismiss(on=place.thing(), slug=group.slug, reason=reason, by=person(request))
            return redirect(place.address)
        except Refused as refused:
            error = str(refused)
    context = {"place": place, "caveat": group, "error": error, "reason": data.get("reason", "")}
    return render(request, "runs/caveat_dismiss.html", context, status=422 if error else 200)


@require_POST
def caveat_undo(request: HttpRequest, pk: int) -> HttpResponse:
    dismissal = access.get_dismissal(pk)
    undo_dismissal(dismissal=dismissal, by=person(request))
    where = dismissal.run or dismissal.comparison
    assert where is not None  # a constraint holds it
    return redirect(where.get_absolute_url())


@require_http_methods(["GET", "POST"])
def caveat_test(request: HttpRequest) -> HttpResponse:
    """GET shows the counter-experiment as a ready campaign; POST queues it."""
    data = request.POST if request.method == "POST" else request.GET
    place = find_place(data.get("on", ""))
    group = place.group(data.get("slug", ""))
    plan, error = None, ""
    try:
        plan = _plan(place, group)
        if request.method == "POST":
            return redirect(once(request, person(request), lambda: _start(request, place, plan)))
    except Refused as refused:
        error = str(refused)
    except ValueError as wrong:  # a flag that the engine would not take; it names the flag
        error = f"{getattr(wrong, 'flag', '')} {getattr(wrong, 'message', wrong)}".strip()
    context = {"place": place, "caveat": group, "plan": plan, "error": error, **_price(plan)}
    refused_post = request.method == "POST" or plan is None
    return render(request, "runs/caveat_test.html", context, status=422 if refused_post else 200)


def _plan(place: Place, group: CaveatGroup) -> Plan:
    experiment = group.experiment
    if experiment is None or (experiment.arms == "all" and place.run is not None):
        raise Refused("Nothing that could be run tells how much this matters.")
    found_on = [s for s in place.sides if any(ln.run.pk in group.runs for ln in s.counted)]
    limits = [side.limit for side in place.sides if side.limit is not None]
    sides = place.sides if experiment.arms == "all" else found_on or place.sides
    return plan_experiment(
        slug=group.slug,
        experiment=experiment,
        arms=[side.arm for side in sides],
        limit=min(limits, default=None),
    )


def _price(plan: Plan | None) -> dict[str, Any]:
    """Minutes of all launches together, as far as anything alike has run there before."""
    if plan is None:
        return {}
    each = [price_minutes(arm.source, arm.source.host) for arm in plan.arms]
    told = [minutes for minutes in each if minutes is not None]
    return {
        "minutes": plan.launches * sum(told) if len(told) == len(each) else None,
        "commands": [(arm, laid_out(arm.command)) for arm in plan.arms],
    }


def _start(request: HttpRequest, place: Place, plan: Plan | None) -> str:
    assert plan is not None  # without one there is an error, and nobody comes here
    word, ratio = _doubted(place)
    test = start_experiment(
        plan=plan, on=place.thing(), doubted=word, ratio=ratio, by=person(request)
    )
    messages.success(
        request, f"Queued. When it has ended, the answer stands beside the caveat on {place.words}."
    )
    return test.campaign.get_absolute_url()


def _doubted(place: Place) -> tuple[str, float | None]:
    """The word and the figure of the first pair, as they are now."""
    if place.compared is None:
        return "", None
    found = place.compared.pairs[0].judged.judgement.sweep
    ratio = found.ratio
    if ratio is None:
        told = [row.headline.ratio for row in place.compared.pairs[0].rows if row.headline.ratio]
        ratio = told[-1] if told else None
    return found.text[:60], ratio
