"""All runs, newest first."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from hosts.models import Host
from runs.models import Run, State
from runs.models.run import RunQuerySet
from runs.models.states import ACTIVE
from runs.views.parts import answer, live_part

PAGE = 50
STATES = {
    "unfinished": "unfinished",
    "succeeded": "succeeded",
    "failed": "failed, timed out or lost",
    "cancelled": "cancelled",
}


@require_safe
def run_list(request: HttpRequest) -> HttpResponse:
    chosen = {name: request.GET.get(name, "").strip() for name in ("state", "host", "text")}
    page = Paginator(_filtered(**chosen), PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    query.pop("seen", None)
    listed = {"page": page, "filtered": any(chosen.values()), "query": query.urlencode()}
    live = any(not run.is_final for run in page.object_list)
    part = live_part(request, "runs/_run_list.html", listed, id="list", live=live)
    if alone := answer(request, part):
        return alone
    hosts = Host.objects.order_by("name").values_list("name", flat=True)
    context = {**chosen, "list": part.html, "states": STATES, "hosts": hosts}
    return render(request, "runs/run_list.html", context)


def _filtered(*, state: str, host: str, text: str) -> RunQuerySet:
    runs = Run.objects.for_lists().order_by("-queued_at", "-pk")
    if state == "unfinished":
        runs = runs.filter(state__in=[State.QUEUED, *ACTIVE])
    elif state == "failed":
        runs = runs.filter(state__in=[State.FAILED, State.TIMED_OUT, State.LOST])
    elif state in (State.SUCCEEDED, State.CANCELLED):
        runs = runs.filter(state=state)
    if host:
        runs = runs.filter(host__name=host)
    if text:
        wanted = Q(campaign__question__icontains=text) | Q(arm__name__icontains=text)
        if text.isdecimal() and len(text) < 10:
            wanted |= Q(pk=int(text))
        runs = runs.filter(wanted)
    return runs
