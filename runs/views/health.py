"""For whoever watches over Throughline: does each kind of process still do its work?"""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from runs.models import Leader, Sign


@login_not_required
@never_cache
@require_safe
def worker(request: HttpRequest) -> JsonResponse:
    """200 while workers answer what they are sent, else 503; tells nothing but times."""
    sign = Sign.objects.filter(name=Sign.WORKER).first()
    return _answer(sign.at if sign else None, settings.DURATIONS.deaf)


@login_not_required
@never_cache
@require_safe
def conductor(request: HttpRequest) -> JsonResponse:
    """200 while some conductor holds the sweep lease, else 503."""
    leader = Leader.objects.order_by("-expires_at").first()
    return _answer(leader.expires_at if leader else None, settings.DURATIONS.claim)


def _answer(last: datetime | None, limit_s: float) -> JsonResponse:
    age = (timezone.now() - last).total_seconds() if last else None
    well = age is not None and age <= limit_s
    told = {"ok": well, "age_s": round(age, 1) if age is not None else None, "limit_s": limit_s}
    return JsonResponse(told, status=200 if well else 503)
