"""One run: its page, its stored log, and stopping it."""

from __future__ import annotations

from collections.abc import Iterator

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from runs.access import get_run
from runs.actions.cancel import cancel_run
from runs.loglines import TAIL, log_part
from runs.models import LogStream, Run
from runs.points import newest_stream
from runs.runnumbers import baseline_readings, numbers
from runs.runpage import marks, run_page
from runs.views.notes import notes_rail
from runs.views.who import person

CHARTS = [
    {"key": "output_tps", "label": "output tok/s", "under": "axis from 0", "height": 158},
    {"key": "accept_len", "label": "accept len", "under": "axis from 1", "height": 100},
    {"key": "requests", "label": "requests", "under": "running, waiting", "height": 86},
    {"key": "token_usage", "label": "KV usage", "under": "share of tokens", "height": 108},
]
PIECE = 256 * 1024  # bytes of log read from the database at once


@require_safe
def run_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Live while it runs, the same from the database afterwards."""
    run = get_run(pk)
    page = run_page(run)
    stream = page.stream
    context = {
        "run": run,
        "page": page,
        "numbers": numbers(page, baseline_readings(page)),
        "marks": marks(page),
        "charts": CHARTS,
        "csrf": get_token(request),
        "part": log_part(stream, 0, limit=TAIL) if stream else None,
        "stream": stream,
        "rail": notes_rail(run),
    }
    return render(request, "runs/run_detail.html", context)


@require_safe
def run_log(request: HttpRequest, pk: int) -> HttpResponseBase:
    """The stored log as text, or its bytes from ``from`` up to ``to``."""
    run = get_run(pk)
    stream = _stream(run, request.GET.get("role", "server"))
    start = _offset(request, "from", 0)
    end = min(_offset(request, "to", stream.position), stream.position)
    response = StreamingHttpResponse(
        _pieces(stream, start, end), content_type="text/plain; charset=utf-8"
    )
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _stream(run: Run, role: str) -> LogStream:
    attempt, server = newest_stream(run.pk)
    stream = server
    if role != LogStream.Role.SERVER:
        stream = LogStream.objects.filter(attempt__run=run, attempt__n=attempt, role=role).first()
    if stream is None:
        raise Http404("This run has no such log yet.")
    return stream


def _offset(request: HttpRequest, name: str, default: int) -> int:
    text = request.GET.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise Http404(f"'{name}' is a number of bytes.")
    return int(text)


def _pieces(stream: LogStream, start: int, end: int) -> Iterator[bytes]:
    for at in range(start, end, PIECE):
        yield stream.text(at, min(at + PIECE, end))


@require_POST
def run_cancel(request: HttpRequest, pk: int) -> HttpResponse:
    run = cancel_run(run=get_run(pk), by=person(request))
    if not run.is_final:
        messages.info(request, f"{run} is being stopped. Its server on {run.host} is ended first.")
    return redirect(run)
