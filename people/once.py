"""A form that is sent twice (a double click, a browser that tries again) does its work once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from people.models import Person, Submission

MARK = "once"  # the hidden field with the form's own mark; see the template tag of that name
_NO_PART = {"csrfmiddlewaretoken"}


def once(request: HttpRequest, by: Person, make: Callable[[], str]) -> str:
    """The address that ``make`` gave for this form, now or when it was sent before.

    A form without a mark, or one whose fields have changed since, is another form. What ``make``
    raises undoes everything, so that the form may be sent again.
    """
    if not request.POST.get(MARK):
        return make()
    with transaction.atomic():
        # of two requests at a time the second waits here until the first is stored
        sent, first = Submission.objects.get_or_create(person=by, key=_key(request))
        if first:
            sent.address = make()
            sent.save(update_fields=["address"])
            Submission.objects.filter(at__lt=timezone.now() - Submission.KEPT).delete()
    return sent.address


def _key(request: HttpRequest) -> str:
    said = [(k, v) for k, values in request.POST.lists() for v in values if k not in _NO_PART]
    return hashlib.sha256(repr([request.path, *sorted(said)]).encode()).hexdigest()
