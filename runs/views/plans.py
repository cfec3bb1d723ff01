"""Fill what a plan or a comparison lacks."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from people.once import once
from runs import access
from runs.actions.launch import Refused
from runs.actions.missing import run_missing
from runs.models import Campaign
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
