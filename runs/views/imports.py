"""Read any log or table, show what it holds, and keep it once somebody says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from runs import pending
from runs.actions.import_reading import import_reading
from runs.actions.launch import Refused
from runs.engines.base import Sample
from runs.engines.redact import redact_text
from runs.forms.importing import ImportForm
from runs.readers import Reading, read
from runs.views.who import person

SHOWN = 200  # rows of each table; all of them are kept


@require_http_methods(["GET", "POST"])
def import_text(request: HttpRequest) -> HttpResponse:
    if "ticket" in request.POST:
        return _keep(request)
    if request.method == "GET":
        return render(request, "runs/import.html", {"form": ImportForm()})
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return render(request, "runs/import.html", {"form": form}, status=422)
    data, name = form.told()
    kept = pending.keep(data, name, person(request))
    return render(request, "runs/import.html", {"form": form, **_shown(read(data, name), kept)})


def _keep(request: HttpRequest) -> HttpResponse:
    kept = pending.take(request.POST["ticket"], person(request))
    if kept is None:
        context = {"form": ImportForm(), "gone": True}
        return render(request, "runs/import.html", context, status=410)
    reading = read(kept.data, kept.name)
    try:
        campaign = import_reading(reading=reading, data=kept.data, by=person(request))
    except Refused as refused:
        messages.error(request, str(refused))
        return redirect("import")
    pending.drop(kept)
    return redirect(campaign)


def _shown(reading: Reading, kept: pending.PendingText) -> dict[str, Any]:
    return {
        "reading": reading,
        "ticket": kept.ticket,
        "size": len(kept.data),
        "samples": reading.samples[:SHOWN],
        "rows": reading.rows[:SHOWN],
        "events": reading.events[:SHOWN],
        "event_kinds": Counter(event.kind for event in reading.events).most_common(),
        "damaged": [(d.line, d.reason, redact_text(d.text)[:400]) for d in reading.damaged[:SHOWN]],
        "settings": sorted(_flat(reading.context).items()),
        "derived": reading.as_json()["derived"],
        "mean_over": mean_over(reading.samples),
        "kinds": {
            "sglang-log": "an SGLang log",
            "bench-result": "a table of results",
            "unknown": "nothing that can be read here",
        },
    }


def mean_over(samples: Sequence[Sample]) -> str:
    """What a mean over lines of several loads is not; empty where all lines are of one."""
    running = [s.running for s in samples if s.phase == "decode" and s.running is not None]
    if len(set(running)) < 2:
        return ""
    return f" over lines with {min(running)} to {max(running)} running: the speed of no level"


def _flat(context: dict[str, Any]) -> dict[str, str]:
    """Settings as words; nested ones by their own names."""
    flat: dict[str, str] = {}
    for name, value in context.items():
        if isinstance(value, dict):
            flat |= {inner: redact_text(str(each)) for inner, each in value.items()}
        else:
            words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            flat[name] = redact_text(words)
    return flat
