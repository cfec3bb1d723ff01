"""An import that a worker carries out: how far it is, how it ended, and to try it again."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from people.models import Person
from runs.access import get_import
from runs.actions.import_job import try_again
from runs.actions.launch import Refused
from runs.actions.texts import LARGE
from runs.models import Import
from runs.views.who import person

SHOWN = 10


def own_imports(by: Person) -> list[Import]:
    """The newest that are not done: what came of the others stands among the campaigns."""
    mine = Import.objects.filter(person=by).exclude(state=Import.State.DONE)
    return list(mine.select_related("campaign").order_by("-pk")[:SHOWN])


@require_safe
def import_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """The page asks for itself in part until the import has ended; then it is the campaign's."""
    job = get_import(pk, person(request))
    htmx = getattr(request, "htmx", False)
    if job.state == Import.State.DONE and job.campaign is not None:
        address = job.campaign.get_absolute_url()
        return HttpResponseClientRedirect(address) if htmx else redirect(address)
    context = {"job": job, "before": _before(job), "whole": LARGE}
    return render(request, "runs/_import_job.html" if htmx else "runs/import_job.html", context)


def _before(job: Import) -> int:
    """How many imports come first: they are carried out one after the other."""
    if job.state != Import.State.WAITING:
        return 0
    running = Import.objects.filter(state=Import.State.RUNNING).count()
    waiting = Import.objects.filter(state=Import.State.WAITING, pk__lt=job.pk).count()
    return running + waiting


@require_POST
def import_try_again(request: HttpRequest, pk: int) -> HttpResponse:
    job = get_import(pk, person(request))
    try:
        try_again(job=job)
    except Refused as refused:
        messages.error(request, str(refused))
    return redirect(job)
