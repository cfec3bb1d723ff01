"""The window of a level, moved by hand or put back."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from runs.access import get_run
from runs.actions.launch import Refused
from runs.actions.move_window import move_window, reset_window
from runs.forms.window import WindowForm
from runs.models import Level, Run
from runs.points import newest_stream
from runs.views.run import run_context
from runs.views.who import person
from runs.windowpage import level_span


@require_POST
def run_window(request: HttpRequest, pk: int, index: int) -> HttpResponse:
    """``start``, ``end`` and ``reason`` move it, ``back`` puts it back."""
    run = get_run(pk)
    attempt, _ = newest_stream(run.pk)
    level = get_object_or_404(Level, attempt__run=run, attempt__n=attempt, index=index)
    form = WindowForm(request.POST)
    told = _back(request, level) if "back" in request.POST else _move(request, level, form)
    if not told:
        return _refused(request, run, level, form)
    messages.success(request, told)
    return redirect(f"{run.get_absolute_url()}#window-{index}")


def _back(request: HttpRequest, level: Level) -> str:
    try:
        reset_window(level=level, by=person(request))
    except Refused as refused:
        raise Http404(str(refused)) from None
    return f"Level {level.concurrency} has the window again that was found."


def _move(request: HttpRequest, level: Level, form: WindowForm) -> str:
    """What is said of it; nothing if the form has to be shown again."""
    if not form.is_valid():
        return ""
    whole = level_span(level)
    if whole is None:
        raise Http404("Nothing tells when this level was measured.")
    asked: dict[str, Any] = form.cleaned_data
    try:
        move_window(
            level=level,
            start=whole.start + asked["start"],
            end=whole.start + asked["end"],
            by=person(request),
            reason=asked["reason"],
        )
    except Refused as refused:
        form.add_error(refused.field, str(refused))
        return ""
    return f"The window of level {level.concurrency} is moved, and its figures with it."


def _refused(request: HttpRequest, run: Run, level: Level, form: WindowForm) -> HttpResponse:
    context = {**run_context(request, run), "refused": form, "refused_at": level.index}
    return render(request, "runs/run_detail.html", context, status=422)
