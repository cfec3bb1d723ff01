"""Share links: make one, take it back, and the page that opens without signing in."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from people.models import digest
from runs.access import get_arms, get_share_link
from runs.actions.compare import keep_comparison, revoke_link, share_comparison
from runs.comparisons import compare_arms
from runs.models import ShareLink
from runs.snapshots import notes_to_share, snapshot
from runs.views.compare import comparison_context
from runs.views.who import person


@require_POST
def compare_share(request: HttpRequest) -> HttpResponse:
    """Freeze the comparison and show its link, this once: only a hash of it is kept."""
    arms = get_arms(request.POST.get("arms", ""))
    comparison = keep_comparison(arms=arms)
    frozen = snapshot(compare_arms(arms), notes_to_share(comparison))
    token = share_comparison(comparison=comparison, snapshot=frozen, by=person(request))
    address = request.build_absolute_uri(reverse("shared-comparison", args=[token]))
    context = {"links": _links(comparison.pk), "address": address, "key": comparison.key}
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "runs/_compare_share.html", context)
    return render(request, "runs/compare.html", {**comparison_context(arms), **context})


@require_POST
def share_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    link = get_share_link(pk)
    revoke_link(link=link, by=person(request))
    if request.htmx:  # type: ignore[attr-defined]
        context = {"links": _links(link.comparison_id), "key": link.comparison.key}
        return render(request, "runs/_compare_share.html", context)
    return redirect(link.comparison.get_absolute_url())


def _links(comparison: int) -> list[ShareLink]:
    links = ShareLink.objects.filter(comparison=comparison).order_by("-pk")
    return list(links.select_related("made_by"))


@login_not_required
@csrf_exempt
@require_safe
def shared_comparison(request: HttpRequest, token: str) -> HttpResponse:
    """The frozen page. Nothing of the session is read, so no cookie is set.

    Only GET and HEAD are answered, so there is nothing that a forged request could do.
    """
    link = ShareLink.objects.live(token)
    if link is None:
        # a link that was taken back says so; one that never was looks the same
        known = ShareLink.objects.filter(digest=digest(token)).exists()
        return sealed("runs/shared_gone.html", {}, status=410 if known else 404)
    context = {"shown": link.snapshot, "expires_at": link.expires_at}
    return sealed("runs/shared_comparison.html", context, status=200)


def sealed(template: str, context: dict[str, Any], *, status: int) -> HttpResponse:
    """A page for nobody's index, cache or referrer, rendered without the request."""
    response = HttpResponse(render_to_string(template, context), status=status)
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "no-referrer"
    return response
