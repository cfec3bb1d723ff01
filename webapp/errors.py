"""Requests that Django refuses before any view of ours: said in words where people can help it."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.defaults import bad_request as plain


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not isinstance(exception, RequestDataTooBig):
        return plain(request, exception)
    told = {
        "mib": settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 2**20,
        "file_mib": settings.UPLOAD_LIMIT_BYTES // 2**20,
    }
    return render(request, "too_large.html", told, status=413)
