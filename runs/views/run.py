"""One run: its page, its stored log, and stopping it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from hosts.actions.again import try_again
from runs.access import get_run, get_run_by_uid
from runs.actions.cancel import cancel_run
from runs.actions.import_job import begin_reading_again
from runs.actions.launch import Refused
from runs.actions.read_again import can_read_again, read_again, size_of
from runs.differences import launch_command, told_flags
from runs.excerpts import excerpts
from runs.intake.version import PARSER_VERSION
from runs.loglines import TAIL, log_part
from runs.models import Level, LogStream, Run
from runs.outputs import output_text
from runs.points import newest_stream, samples_csv
from runs.runnumbers import baseline_readings, numbers
from runs.runpage import marks, run_page
from runs.sides import side_of_run
from runs.views.notes import notes_rail
from runs.views.who import person

CHARTS = [
    {"key": "output_tps", "label": "output tok/s", "under": "axis from 0", "height": 158},
    {"key": "accept_len", "label": "accept len", "under": "axis from 1", "height": 100},
    {"key": "requests", "label": "requests", "under": "running, waiting", "height": 86},
    {"key": "token_usage", "label": "KV usage", "under": "share of tokens", "height": 108},
]
GPU_CHARTS = [
    {"key": "gpu_clock", "label": "GPU clock", "under": "MHz, slowest at work", "height": 100},
    {"key": "gpu_power", "label": "GPU power", "under": "watts, all GPUs", "height": 86},
    {"key": "gpu_heat", "label": "GPU heat", "under": "°C, and % in use", "height": 108},
]
PIECE = 256 * 1024  # bytes of log read from the database at once


@require_safe
def run_by_uid(request: HttpRequest, uid: UUID) -> HttpResponse:
    """By the name that a host's lease and the node know a run by."""
    return redirect(get_run_by_uid(uid))


@require_safe
def run_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Live while it runs, the same from the database afterwards."""
    return render(request, "runs/run_detail.html", run_context(request, get_run(pk)))


def run_context(request: HttpRequest, run: Run) -> dict[str, Any]:
    """All that the page of a run shows."""
    page = run_page(run)
    stream = page.stream
    return {
        "run": run,
        "page": page,
        "numbers": numbers(page, baseline_readings(page)),
        "marks": marks(page),
        "charts": CHARTS,
        "gpu_charts": GPU_CHARTS if page.gpu and page.gpu.sampled else [],
        "csrf": get_token(request),
        "part": log_part(stream, 0, limit=TAIL) if stream else None,
        "stream": stream,
        **_imported(run),
        **_server(run),
        "rail": notes_rail(run),
    }


def _server(run: Run) -> dict[str, Any]:
    """How the server was started, as far as it is known; a kept server has its own arguments."""
    config = run.arm.config
    known = config.sets_arguments
    words = told_flags if run.imported else launch_command
    return {
        "command": words(config) if known else "",
        "environment": shlex.join(f"{k}={v}" for k, v in config.env.items()) if known else "",
        "untyped_flags": config.effective.get("untyped_flags", []),
    }


def _imported(run: Run) -> dict[str, Any]:
    """What only the page of an import shows: its texts, and rows that are no level."""
    if not run.imported:
        return {}
    attempt = run.attempts.order_by("-n").first()
    streams = attempt.streams.order_by("part", "role") if attempt else LogStream.objects.none()
    return {
        "texts": list(streams),
        "older": any(stream.parser_version < PARSER_VERSION for stream in streams),
        "may_read_again": can_read_again(run),
        "excerpt": next(iter(excerpts([side_of_run(run)])), None),
        "loose_rows": (attempt.facts if attempt else {}).get("loose_rows", []),
    }


@require_safe
def run_log(request: HttpRequest, pk: int) -> HttpResponseBase:
    """The stored log as text, or its bytes from ``from`` up to ``to``."""
    run = get_run(pk)
    part = _offset(request, "part", 0) if "part" in request.GET else None
    stream = _stream(run, request.GET.get("role", "server"), part)
    start = _offset(request, "from", 0)
    end = min(_offset(request, "to", stream.position), stream.position)
    response = StreamingHttpResponse(
        _pieces(stream, start, end), content_type="text/plain; charset=utf-8"
    )
    response["X-Content-Type-Options"] = "nosniff"
    return response


@require_safe
def run_output(request: HttpRequest, pk: int, index: int) -> HttpResponse:
    """What a load tool printed at one level, or (``?what=result``) the file that it wrote."""
    run = get_run(pk)
    attempt, _ = newest_stream(run.pk)
    level = get_object_or_404(Level, attempt__run=run, attempt__n=attempt, index=index)
    stream = _stream(run, LogStream.Role.LOAD, None)
    told = output_text(stream, level, result=request.GET.get("what") == "result")
    response = HttpResponse(told, content_type="text/plain; charset=utf-8")
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _stream(run: Run, role: str, part: int | None) -> LogStream:
    """The server's log, or another role's; of an import ``part`` names one of several texts."""
    attempt, server = newest_stream(run.pk)
    stream = server
    if role != LogStream.Role.SERVER or part is not None:
        chosen = LogStream.objects.filter(attempt__run=run, attempt__n=attempt, role=role)
        stream = (chosen if part is None else chosen.filter(part=part)).order_by("part").first()
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
    """The text, with a line in place of what is not kept of it."""
    gap, behind = stream.dropped or (end, end)
    yield from _kept(stream, start, min(end, gap))
    if start < behind and gap < end:
        yield f"\n[throughline] {behind - gap} bytes are not kept here\n".encode()
    yield from _kept(stream, max(start, behind), end)


def _kept(stream: LogStream, start: int, end: int) -> Iterator[bytes]:
    for at in range(start, end, PIECE):
        yield stream.text(at, min(at + PIECE, end))


@require_safe
def run_samples(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Every sample of the server's log with all its columns, as CSV."""
    run = get_run(pk)
    stream = _stream(run, LogStream.Role.SERVER, None)
    response = StreamingHttpResponse(samples_csv(stream), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="run-{run.pk}-samples.csv"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


@require_POST
def run_read_again(request: HttpRequest, pk: int) -> HttpResponse:
    """Make everything of this run's import anew from its stored texts; of long ones by a worker."""
    run = get_run(pk)
    by = person(request)
    if size_of(run.campaign) > settings.AT_ONCE_BYTES:
        return redirect(begin_reading_again(campaign=run.campaign, by=by))
    try:
        count = read_again(campaign=run.campaign, by=by)
    except Refused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, f"Read again: {count} run{'s' * (count != 1)} made anew.")
    return redirect(run)


@require_POST
def run_try_again(request: HttpRequest, pk: int) -> HttpResponse:
    """A person has seen to the login: the host may be tried again."""
    run = get_run(pk)
    try_again(host=run.host, by=person(request))
    messages.info(request, f"{run.host} is tried again.")
    return redirect(run)


@require_POST
def run_cancel(request: HttpRequest, pk: int) -> HttpResponse:
    run = cancel_run(run=get_run(pk), by=person(request))
    if not run.is_final:
        messages.info(request, f"{run} is being stopped. Its server on {run.host} is ended first.")
    return redirect(run)
