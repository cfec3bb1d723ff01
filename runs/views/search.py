"""One box that searches notes, runs and campaigns."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.models import Campaign, Note, Run

PAGE = 30
FOUND = 8  # runs and campaigns shown above the notes
WORDS = 6  # of what was typed; each must be found


@require_safe
def note_list(request: HttpRequest) -> HttpResponse:
    """All notes; with ``?text=`` those that hold every word, and runs and campaigns that do."""
    kind = request.GET.get("kind", "")
    tag = request.GET.get("tag", "").strip().lower()
    text = request.GET.get("text", "").strip()[:200]
    words = text.split()[:WORDS]
    notes = Note.objects.order_by("-pk")
    if kind in Note.Kind.values:
        notes = notes.filter(kind=kind)
    if tag:
        notes = notes.filter(_has_tag(tag))
    for word in words:
        found = Q(text__icontains=word) | Q(tags__icontains=word.lstrip("#").lower())
        notes = notes.filter(found | Q(config_key__icontains=word))
    page = Paginator(list(notes.values_list("pk", flat=True)), PAGE).get_page(
        request.GET.get("page")
    )
    context = {
        "page": page,
        "shown": _whole(page.object_list),
        "kinds": Note.Kind.choices,
        "kind": kind,
        "tag": tag,
        "text": text,
        "campaigns": campaigns_with(words),
        "runs": runs_with(words),
    }
    return render(request, "runs/note_list.html", context)


def _whole(ids: Any) -> list[Note]:
    """The notes of a page. Texts are searched once: a count beside it would search them again."""
    shown = Note.objects.newest_first().filter(pk__in=list(ids))
    return list(shown.select_related("arm__campaign", "run__arm"))


def _has_tag(tag: str) -> Q:
    """A whole word among the tags."""
    return (
        Q(tags=tag)
        | Q(tags__startswith=f"{tag} ")
        | Q(tags__endswith=f" {tag}")
        | Q(tags__contains=f" {tag} ")
    )


def campaigns_with(words: list[str]) -> list[Campaign]:
    """The newest campaigns whose question or conclusion holds every word."""
    found = Campaign.objects.whole().order_by("-pk")
    for word in words:
        found = found.filter(Q(question__icontains=word) | Q(conclusion__icontains=word))
    return list(found[:FOUND]) if words else []


def runs_with(words: list[str]) -> list[Run]:
    """The newest runs of which every word is in arm, model, host, reason, or is the number."""
    found = Run.objects.for_lists().order_by("-pk")
    for word in words:
        here = Q(arm__name__icontains=word) | Q(arm__config__model__icontains=word)
        here |= Q(host__name__icontains=word) | Q(reason_text__icontains=word)
        if word.isascii() and word.isdigit() and len(word) < 19:
            here |= Q(pk=int(word))
        found = found.filter(here)
    return list(found[:FOUND]) if words else []
