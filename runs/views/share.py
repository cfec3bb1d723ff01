"""Share links: make one, take it back, and the page that opens without signing in."""

from __future__ import annotations

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
from runs.snapshots import completed, notes_to_share, snapshot
from runs.views.compare import comparison_context
from runs.views.links import exports_of_share
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
        return gone(token)
    context = {
        "shown": completed(link.snapshot),
        "expires_at": link.expires_at,
        "exports": exports_of_share(token),
    }
    return sealed(render_to_string("runs/shared_comparison.html", context))


def gone(token: str) -> HttpResponse:
    """A link that was taken back says so; one that never was looks the same."""
    known = ShareLink.objects.filter(digest=digest(token)).exists()
    page = render_to_string("runs/shared_gone.html")
    return sealed(page, status=410 if known else 404)


def sealed(
    body: str | bytes, *, status: int = 200, media: str = "text/html; charset=utf-8"
) -> HttpResponse:
    """An answer for nobody's index, cache or referrer, made without the request's session."""
    response = HttpResponse(body, status=status, content_type=media)
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "no-referrer"
    return response
