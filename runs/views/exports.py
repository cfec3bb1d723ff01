"""Files of a comparison: of now for who is signed in, of its frozen copy for a reader of a link."""

from __future__ import annotations

from functools import lru_cache

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from runs.access import get_arms
from runs.actions.compare import comparison_key
from runs.comparisons import compare_arms
from runs.exports import FORMATS, Format
from runs.exports.picture import as_picture
from runs.models import ShareLink
from runs.snapshots import completed, notes_around, snapshot
from runs.views.share import gone, limited, sealed

BY_SUFFIX = {each.suffix: each for each in FORMATS.values()}


@require_safe
def compare_export(request: HttpRequest, suffix: str) -> HttpResponse:
    """The comparison of ``?arms=3~4``; of a single arm, its own figures."""
    form = _format(suffix)
    arms = get_arms(request.GET.get("arms", ""))
    key = comparison_key(arms)
    told = snapshot(compare_arms(arms), notes_around(arms))
    link = request.build_absolute_uri(f"{reverse('compare')}?arms={key}")
    response = HttpResponse(form.write(told, link), content_type=_media(form))
    return _as_file(response, f"comparison-{key.replace('~', '-')}.{suffix}")


@login_not_required
@csrf_exempt
@require_safe
@limited
def shared_export(request: HttpRequest, token: str, suffix: str) -> HttpResponse:
    """The frozen copy of a link as a file. Nothing of the session is read."""
    form = _format(suffix)
    link = ShareLink.objects.live(token)
    if link is None:
        return gone(token)
    address = request.build_absolute_uri(reverse("shared-comparison", args=[token]))
    response = sealed(form.write(completed(link.snapshot), address), media=_media(form))
    return _as_file(response, f"comparison.{suffix}")


@login_not_required
@csrf_exempt
@require_safe
@limited
def shared_picture(request: HttpRequest, token: str) -> HttpResponse:
    """What a chat shows for a link. It ends with the link."""
    link = ShareLink.objects.live(token)
    if link is None:
        return gone(token)
    return sealed(_picture(Frozen(link)), media="image/png")


class Frozen:
    """A link's copy as a key: it is never rewritten, so its picture is drawn once a process."""

    def __init__(self, link: ShareLink) -> None:
        self.key = (link.pk, link.made_at)
        self.told = link.snapshot

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=64)
def _picture(frozen: Frozen) -> bytes:
    return as_picture(completed(frozen.told))


def _format(suffix: str) -> Format:
    found = BY_SUFFIX.get(suffix)
    if found is None:
        raise Http404(f"There is no export as {suffix}: it is one of {', '.join(BY_SUFFIX)}.")
    return found


def _media(form: Format) -> str:
    return f"{form.media}; charset=utf-8"


def _as_file(response: HttpResponse, name: str) -> HttpResponse:
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response
