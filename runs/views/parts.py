"""Parts of a page that are asked for again while something is going on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

EVERY_S = 3


def is_htmx(request: HttpRequest) -> bool:
    """Whether the page asks for a part of itself."""
    return request.headers.get("HX-Request") == "true"


@dataclass(frozen=True)
class Part:
    """A rendered part and its hash, by which the browser tells what it already shows."""

    id: str
    html: SafeString
    seen: str


def live_part(
    request: HttpRequest, template: str, context: dict[str, Any], *, id: str, live: bool
) -> Part:
    """Render ``template`` into an element that htmx asks for again while ``live``."""
    inner = mark_safe(render_to_string(template, context, request))
    seen = hashlib.sha256(inner.encode()).hexdigest()[:16]
    if not live:
        return Part(id, format_html('<div id="{}">{}</div>', id, inner), seen)
    query = request.GET.copy()
    query["seen"] = seen
    html = format_html(
        '<div id="{}" hx-get="{}?{}" hx-trigger="every {}s" hx-swap="outerHTML">{}</div>',
        id,
        request.path,
        query.urlencode(),
        EVERY_S,
        inner,
    )
    return Part(id, html, seen)


def answer(request: HttpRequest, part: Part) -> HttpResponse | None:
    """What a request for just this part gets: nothing new, or the part; ``None`` for a page."""
    if request.headers.get("HX-Target") != part.id or request.method != "GET":
        return None
    if request.GET.get("seen") == part.seen:
        return HttpResponse(status=204)
    return HttpResponse(part.html)
