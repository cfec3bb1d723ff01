"""Notes: the rail beside a page, adding one, and all of them."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from runs import access
from runs.actions.annotate import Anchor, add_note
from runs.actions.compare import comparison_key, keep_comparison
from runs.forms.note import NoteForm
from runs.models import Arm, Campaign, Comparison, Note, Run
from runs.views.parts import is_htmx
from runs.views.who import person

PAGE = 50


@dataclass(frozen=True)
class Rail:
    """Notes that belong beside a page, and the form for one more."""

    notes: list[Note]
    form: NoteForm


def notes_rail(on: Anchor | list[Arm], form: NoteForm | None = None) -> Rail:
    """The rail of a campaign, a run or a comparison (which may be given as its arms, unsaved).

    Everything is shown that hangs on the thing itself or on what is shown with it.
    """
    notes = Note.objects.newest_first().filter(_beside(on)).select_related("arm", "run__arm")
    return Rail(list(notes), form or _empty_form(on))


def _beside(on: Anchor | list[Arm]) -> Q:
    match on:
        case Campaign():
            return (
                Q(campaign=on)
                | Q(arm__campaign=on)
                | Q(run__campaign=on)
                | Q(comparison__campaign=on)
            )
        case Run():
            return Q(run=on) | Q(arm=on.arm_id) | Q(campaign=on.campaign_id)
        case Arm():
            return Q(arm=on) | Q(run__arm=on) | Q(campaign=on.campaign_id)
        case Comparison():
            return Q(comparison=on) | _of_arms(on.arm_ids) | Q(campaign=on.campaign_id)
    key = comparison_key(on)
    ids = [arm.pk for arm in on]
    return Q(comparison__key=key) | _of_arms(ids) | Q(campaign=on[0].campaign_id)


def _of_arms(ids: list[int]) -> Q:
    return Q(arm__in=ids) | Q(run__arm__in=ids)


def _empty_form(on: Anchor | list[Arm]) -> NoteForm:
    page = _name(on)
    return NoteForm(anchors=_choices(on), initial={"anchor": page, "page": page}, prefix=None)


def _name(on: Anchor | list[Arm]) -> str:
    match on:
        case list():
            return f"comparison:{comparison_key(on)}"
        case Comparison():
            return f"comparison:{on.key}"
    return f"{type(on).__name__.lower()}:{on.pk}"


def _choices(on: Anchor | list[Arm]) -> list[tuple[str, str]]:
    """Where a note written on this page may hang."""
    match on:
        case Campaign():
            return [(_name(on), "this campaign"), *((_name(a), a.name) for a in on.arms.all())]
        case Run():
            return [(_name(on), f"run {on.pk}"), (_name(on.arm), on.arm.name)]
        case Arm():
            return [(_name(on), on.name)]
        case Comparison():
            arms = Arm.objects.filter(pk__in=on.arm_ids)
            return [(_name(on), "this comparison"), *((_name(a), a.name) for a in arms)]
    return [(_name(on), "this comparison"), *((_name(a), a.name) for a in on)]


@require_POST
def note_add(request: HttpRequest) -> HttpResponse:
    form = NoteForm(request.POST)
    if form.is_valid():
        on = _thing(*form.cleaned_data["anchor"])
        add_note(
            on=on,
            text=form.cleaned_data["text"],
            kind=form.cleaned_data["kind"],
            by=person(request),
        )
        page = _thing(*form.cleaned_data["page"]) if form.cleaned_data["page"] else on
        if is_htmx(request):
            return render(request, "_notes.html", {"rail": notes_rail(page)})
        return redirect(f"{_address(page)}#notes")
    return _refused(request, form)


def _refused(request: HttpRequest, form: NoteForm) -> HttpResponse:
    """What was typed stays; the reason stands beside it, in the rail or on a page of its own."""
    page = form.cleaned_data.get("page") or form.cleaned_data.get("anchor")
    if not is_htmx(request) or not page:
        return render(request, "runs/note_form.html", {"form": form}, status=422)
    on = _thing(*page)
    again = NoteForm(request.POST, anchors=_choices(on))
    return render(request, "_notes.html", {"rail": notes_rail(on, again)}, status=422)


def _thing(kind: str, key: str) -> Anchor:
    match kind:
        case "campaign":
            return access.get_campaign(int(key))
        case "run":
            return access.get_run(int(key))
        case "arm":
            return access.get_arm(int(key))
        case "comparison":
            return keep_comparison(arms=access.get_arms(key))
    raise Http404("Nothing of that kind holds notes.")


def _address(on: Anchor) -> str:
    return on.campaign.get_absolute_url() if isinstance(on, Arm) else on.get_absolute_url()


@require_safe
def note_list(request: HttpRequest) -> HttpResponse:
    kind = request.GET.get("kind", "")
    text = request.GET.get("text", "").strip()
    notes = Note.objects.newest_first().select_related("arm__campaign", "run__arm")
    if kind in Note.Kind.values:
        notes = notes.filter(kind=kind)
    if text:
        notes = notes.filter(text__icontains=text)
    page = Paginator(notes, PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "kinds": Note.Kind.choices, "kind": kind, "text": text}
    return render(request, "runs/note_list.html", context)
