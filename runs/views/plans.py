"""Fill what a plan or a comparison lacks."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from people.once import once
from runs import access
from runs.actions.compare import comparison_key
from runs.actions.launch import Refused
from runs.actions.missing import hold_campaigns, measure_wanted, run_missing, start_confirmation
from runs.comparisons import compare_arms
from runs.gaps import gaps_of, why_not_again
from runs.models import Arm, Campaign
from runs.views.who import person


@require_POST
def campaign_missing(request: HttpRequest, pk: int) -> HttpResponse:
    """Queue the launches of the plan that did not succeed, once for one form."""
    campaign = access.get_campaign(pk)
    try:
        return redirect(once(request, person(request), lambda: _queue(request, campaign)))
    except Refused as refused:
        messages.error(request, str(refused))
        return redirect(campaign)


def _queue(request: HttpRequest, campaign: Campaign) -> str:
    queued = run_missing(campaign=campaign, by=person(request))
    plural = "es are" if len(queued) > 1 else " is"
    messages.success(request, f"{len(queued)} launch{plural} queued, in the order of the plan.")
    return campaign.get_absolute_url()


@require_http_methods(["GET", "HEAD", "POST"])
def compare_missing(request: HttpRequest) -> HttpResponse:
    """GET lists what a comparison lacks and what it costs; POST queues just that."""
    data = request.POST if request.method == "POST" else request.GET
    arms = access.get_arms(data.get("arms", ""))
    if len(arms) < 2:
        raise Http404("One arm alone lacks nothing.")
    compared = compare_arms(arms)
    gaps = gaps_of(compared)
    error = next((why for arm in gaps.arms if (why := why_not_again(arm))), "")
    if request.method == "POST" and not error:
        try:
            return redirect(once(request, person(request), lambda: _measure(request, arms)))
        except Refused as refused:
            error = str(refused)
    context = {
        "key": comparison_key(arms),
        "compared": compared,
        "gaps": gaps,
        "minutes": gaps.minutes(),
        "error": error,
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "runs/compare_missing.html", context, status=status)


@transaction.atomic
def _measure(request: HttpRequest, arms: Sequence[Arm]) -> str:
    """What is lacking once nobody else fills it: two people may press the button at a time."""
    hold_campaigns(arms)
    gaps = gaps_of(compare_arms(arms))
    by, confirming = person(request), gaps.confirmation
    if confirming:
        told = [(side.arm, side.name) for side in confirming.sides]
        campaign = start_confirmation(arms=told, launches=confirming.launches, by=by)
        messages.success(request, "Queued. It is a comparison of its own.")
        return campaign.get_absolute_url()
    queued = measure_wanted(wanted=[gap.wanted for gap in gaps.gaps], by=by)
    plural = "es are" if len(queued) > 1 else " is"
    messages.success(request, f"{len(queued)} launch{plural} queued.")
    return queued[0].campaign.get_absolute_url()
