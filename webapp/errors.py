"""What goes wrong outside any view of ours, said in words where people can help it."""

from __future__ import annotations

import sys

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.defaults import bad_request as plain
from django.views.defaults import server_error as plain_fault

from webapp import database

RETRY_S = 5  # a page that was asked for comes again by itself after so many seconds


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not isinstance(exception, RequestDataTooBig):
        return plain(request, exception)
    told = {
        "mib": settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 2**20,
        "file_mib": settings.UPLOAD_LIMIT_BYTES // 2**20,
    }
    return render(request, "too_large.html", told, status=413)


def server_error(request: HttpRequest) -> HttpResponse:
    """A database that is away for a moment is no fault of the page: 503, and asked again."""
    if not isinstance(sys.exc_info()[1], database.TROUBLE):
        return plain_fault(request)
    again = {"Retry-After": str(RETRY_S)}
    if request.path.startswith("/api/"):
        told = {"detail": "The database does not answer right now; nothing was changed. Ask again."}
        return JsonResponse(told, status=503, headers=again)
    # without the request: whatever else a page says would ask the database too
    page = render_to_string(
        "unavailable.html", {"retry_s": RETRY_S, "asked": request.method in ("GET", "HEAD")}
    )
    return HttpResponse(page, status=503, headers=again)
