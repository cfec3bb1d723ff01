"""Notes: the rail beside a page, adding one, changing one, and what it said before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs import access
from runs.actions.annotate import Anchor, ConfigKey, add_note, edit_note
from runs.actions.compare import keep_comparison
from runs.actions.launch import Refused
from runs.actions.promote import except_run, promote, undo_rule
from runs.caveats.predicate import KEYS, PredicateError
from runs.forms.note import NoteEditForm, NoteForm, parse_anchor
from runs.models import Arm, Campaign, Note, NoteRule, Run
from runs.noteplaces import Place, beside, choices, name_of
from runs.noterules import matching_runs, rules_on
from runs.views.parts import is_htmx
from runs.views.who import person

MATCHES = 30  # runs that a rule's page lists; it counts all
SHOWN = 200  # in a rail; all others are in the list of notes


@dataclass(frozen=True)
class Rail:
    """Notes that belong beside a page, those that rules bring there, and the form for one more."""

    notes: list[Note]
    form: NoteForm
    rules: list[NoteRule]


def notes_rail(on: Place, form: NoteForm | None = None) -> Rail:
    """The rail of a thing's page; a comparison may be given as its arms, unsaved.

    Everything is shown that hangs on the thing itself, on what is shown with it and on what holds
    it.
    """
    notes = Note.objects.newest_first().filter(beside(on)).select_related("arm", "run__arm")
    here = list(notes[:SHOWN])
    shown = {note.pk for note in here}
    rules = [rule for rule in rules_beside(on) if rule.note_id not in shown]
    return Rail(here, form or _empty_form(on), rules)


def rules_beside(on: Place) -> list[NoteRule]:
    """Rules that hold on what the page shows."""
    match on:
        case Run():
            return rules_on([on.arm], on)
        case Arm():
            return rules_on([on])
        case Campaign():
            return rules_on(on.whole_arms)
        case list():
            return rules_on(on)
    return []


def _empty_form(on: Place, spot: str = "") -> NoteForm:
    page = name_of(on)
    told = {"anchor": page, "page": page, "spot": spot}
    return NoteForm(anchors=choices(on), initial=told, prefix=None)


@require_safe
def note_rail(request: HttpRequest) -> HttpResponse:
    """The rail of ``?on=host:2``, for pages that are made elsewhere."""
    return render(request, "_notes.html", {"rail": notes_rail(_thing(*_asked(request)))})


@require_safe
def note_new(request: HttpRequest) -> HttpResponse:
    """A page to write on: ``?on=run:7&spot=level 16``, a config key as ``?on=key:--tp``."""
    on = _thing(*_asked(request))
    form = _empty_form(on, request.GET.get("spot", "")[:60])
    return render(request, "runs/note_form.html", {"form": form, "new": True})


def _asked(request: HttpRequest) -> tuple[str, str]:
    try:
        return parse_anchor(request.GET.get("on", ""))
    except ValueError:
        raise Http404("Nothing of that kind holds notes.") from None


@require_POST
def note_add(request: HttpRequest) -> HttpResponse:
    form = NoteForm(request.POST)
    if not form.is_valid():
        return _refused(request, form)
    told = form.cleaned_data
    on = _thing(*told["anchor"])
    try:
        add_note(
            on=on, by=person(request), **{k: told[k] for k in ("text", "kind", "spot", "tags")}
        )
    except Refused as refused:
        form.add_error(refused.field, str(refused))
        return _refused(request, form)
    page = _thing(*told["page"]) if told["page"] else on
    if is_htmx(request):
        return render(request, "_notes.html", {"rail": notes_rail(page)})
    return redirect(f"{_address(page)}#notes")


def _refused(request: HttpRequest, form: NoteForm) -> HttpResponse:
    """What was typed stays; the reason stands beside it, in the rail or on a page of its own."""
    page = form.cleaned_data.get("page") or form.cleaned_data.get("anchor")
    if not is_htmx(request) or not page:
        return render(request, "runs/note_form.html", {"form": form}, status=422)
    on = _thing(*page)
    again = NoteForm(request.POST, anchors=choices(on))
    again.full_clean()
    for field, errors in form.errors.items():
        if field not in again.errors:
            again.add_error(field, errors.as_text())
    return render(request, "_notes.html", {"rail": notes_rail(on, again)}, status=422)


def _thing(kind: str, key: str) -> Anchor | ConfigKey:
    match kind:
        case "campaign":
            return access.get_campaign(int(key))
        case "run":
            return access.get_run(int(key))
        case "arm":
            return access.get_arm(int(key))
        case "host":
            return access.get_host(int(key))
        case "key":
            return ConfigKey(key)
        case "comparison":
            return keep_comparison(arms=access.get_arms(key))
    raise Http404("Nothing of that kind holds notes.")


def _address(on: Anchor | ConfigKey) -> str:
    if isinstance(on, ConfigKey):
        return f"{reverse('note-list')}?text={on.name}"
    return on.campaign.get_absolute_url() if isinstance(on, Arm) else on.get_absolute_url()


@require_http_methods(["GET", "HEAD", "POST"])
def note_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """A note with all that it said before, and the form that changes it."""
    note = access.get_note(pk)
    now = {name: getattr(note, name) for name in ("text", "kind", "status", "tags")}
    form = NoteEditForm(request.POST or None, initial=now)
    if request.method == "POST" and form.is_valid():
        try:
            edit_note(note=note, by=person(request), **form.cleaned_data)
            return redirect(note)
        except Refused as refused:
            form.add_error(refused.field, str(refused))
    context = {
        "note": note,
        "form": form,
        "edits": note.edits.select_related("by"),
        **_rule(note, request.GET.get("predicate")),
    }
    return render(request, "runs/note_detail.html", context, status=422 if form.errors else 200)


def _rule(note: Note, typed: str | None) -> dict[str, Any]:
    """The standing rule, its matches, and what a typed predicate would match."""
    told = NoteRule.objects.filter(note=note).select_related("by", "undone_by")
    rules = list(told.prefetch_related("exceptions__run"))
    standing = next((rule for rule in rules if rule.undone_at is None), None)
    predicate = typed if typed is not None else (standing.predicate if standing else "")
    matches, problem = [], ""
    if predicate:
        try:
            matches = matching_runs(predicate)
        except PredicateError as error:
            problem = str(error)
    return {
        "standing": standing,
        "undone": [rule for rule in rules if rule.undone_at is not None],
        "predicate": predicate,
        "typed": typed is not None,
        "matches": matches[:MATCHES],
        "matched": len(matches),
        "problem": problem,
        "keys": KEYS,
    }


@require_POST
def note_promote(request: HttpRequest, pk: int) -> HttpResponse:
    """Make the note a rule; what cannot be read comes back with the reason."""
    note = access.get_note(pk)
    predicate = request.POST.get("predicate", "")
    try:
        promote(note=note, predicate=predicate, by=person(request))
    except Refused:
        return redirect(f"{note.get_absolute_url()}?{urlencode({'predicate': predicate})}#rule")
    return redirect(f"{note.get_absolute_url()}#rule")


@require_POST
def rule_undo(request: HttpRequest, pk: int) -> HttpResponse:
    rule = access.get_note_rule(pk)
    undo_rule(rule=rule, by=person(request))
    return redirect(f"{rule.note.get_absolute_url()}#rule")


@require_POST
def rule_except(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a run out of a rule, with a reason."""
    rule = access.get_note_rule(pk)
    number = request.POST.get("run", "")
    if not access.NUMBER.fullmatch(number):
        raise Http404("A run is named by its number.")
    try:
        reason = request.POST.get("reason", "")
        except_run(rule=rule, run=access.get_run(int(number)), reason=reason, by=person(request))
    except Refused as refused:
        messages.error(request, str(refused))
    return redirect(f"{rule.note.get_absolute_url()}#rule")
