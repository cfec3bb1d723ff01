"""Share links: make one, take it back, and the page that opens without signing in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from people.models import digest
from runs.access import NoSuchArms, get_arms, get_share_link
from runs.actions.compare import keep_comparison, revoke_link, share_comparison
from runs.comparisons import compare_arms
from runs.models import Arm, Comparison, Note, ShareLink
from runs.snapshots import completed, notes_around, notes_to_share, snapshot, why_again
from runs.views.compare import comparison_context
from runs.views.links import chart_words, exports_of_share, share_box
from runs.views.who import person
from webapp.turnstile import WINDOW_S, Turnstile

# The lives that may be chosen, in days; None: until somebody takes the link back.
LIVES: dict[str, int | None] = {"7": 7, "30": 30, "90": 90, "never": None}
# requests in a minute; behind a proxy all readers may come from one address
OF_A_LINK, FROM_AN_ADDRESS = Turnstile(300), Turnstile(600)


@require_POST
def compare_share(request: HttpRequest) -> HttpResponse:
    """Freeze the comparison and show its link, this once: only a hash of it is kept."""
    arms = get_arms(request.POST.get("arms", ""))
    if len(arms) < 2:
        raise Http404("One arm alone is no comparison.")
    days = request.POST.get("days", "")
    if days not in LIVES and days:
        return HttpResponseBadRequest("A link lives 7, 30 or 90 days, or until it is taken back.")
    comparison = keep_comparison(arms=arms)
    frozen = snapshot(compare_arms(arms), _chosen_notes(request, comparison, arms))
    token = share_comparison(
        comparison=comparison, snapshot=frozen, by=person(request), seconds=_seconds(days)
    )
    address = request.build_absolute_uri(reverse("shared-comparison", args=[token]))
    context = {**share_box(comparison.key, arms), "address": address}
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "runs/_compare_share.html", context)
    return render(request, "runs/compare.html", {**comparison_context(arms), **context})


def _seconds(days: str) -> float | None:
    if not days:
        return settings.DURATIONS.share
    chosen = LIVES[days]
    return None if chosen is None else chosen * 86400.0


def _chosen_notes(request: HttpRequest, comparison: Comparison, arms: Sequence[Arm]) -> list[Note]:
    """Those that were ticked among those that may be; without the form, the comparison's own.

    What the person wrote on the comparison after the form was shown could not be ticked: it counts.
    """
    if "choose" not in request.POST:
        return notes_to_share(comparison)
    chosen, offered = set(request.POST.getlist("note")), set(request.POST.getlist("offered"))
    me = person(request).pk
    return [
        note
        for note in notes_around(arms)
        if str(note.pk) in chosen
        or (note.comparison_id and note.author_id == me and str(note.pk) not in offered)
    ]


@require_POST
def share_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    link = get_share_link(pk)
    revoke_link(link=link, by=person(request))
    if request.htmx:  # type: ignore[attr-defined]
        key = link.comparison.key
        try:
            arms = get_arms(key)
        except NoSuchArms as missing:  # a link of arms that are gone can still be taken back
            arms = missing.arms
        return render(request, "runs/_compare_share.html", share_box(key, arms))
    return redirect(link.comparison.get_absolute_url())


def limited(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A page of a link that nobody may fetch without end."""

    @wraps(view)
    def answer(request: HttpRequest, token: str, **more: str) -> HttpResponse:
        if FROM_AN_ADDRESS.lets(request.META["REMOTE_ADDR"]) and OF_A_LINK.lets(digest(token)):
            return view(request, token, **more)
        page = render_to_string("runs/shared_gone.html", {"too_often": True})
        refused = sealed(page, status=429)
        refused["Retry-After"] = f"{WINDOW_S:.0f}"
        return refused

    return answer


@login_not_required
@csrf_exempt
@require_safe
@limited
def shared_comparison(request: HttpRequest, token: str) -> HttpResponse:
    """The frozen page. Nothing of the session is read, so no cookie is set.

    Only GET and HEAD are answered, so there is nothing that a forged request could do.
    """
    link = ShareLink.objects.live(token)
    if link is None:
        return gone(token)
    shown = completed(link.snapshot)
    context = {
        "shown": shown,
        "frozen": [FrozenPair(pair) for pair in shown["pairs"]],
        "link": link,
        "since": link.since,
        "exports": exports_of_share(token),
        **chart_words(
            [(arm["letter"], arm["name"]) for arm in shown["arms"]],
            f"{_simulated(shown)}Throughline, shared copy, frozen {shown['made_at']}",
        ),
        "picture": request.build_absolute_uri(reverse("shared-picture", args=[token])),
        "said": shown["pairs"][0]["sentence"] if shown["pairs"] else "",
    }
    return sealed(render_to_string("runs/shared_comparison.html", context))


def _simulated(shown: dict[str, Any]) -> str:
    return "SIMULATED. " if shown["simulated"] else ""


class FrozenPair:
    """A frozen pair with its ledgers, to be drawn by the live page's own fragment."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        self.why = why_again(told["why"])
        self.capped = [row["concurrency"] for row in told["rows"] if row["capped"]]
        self.names = {"base": {"name": told["base"]}, "other": {"name": told["other"]}}


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
