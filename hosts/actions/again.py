"""Let a host be tried again whose login was refused."""

from __future__ import annotations

from django.db import transaction

from hosts.models import Host, HostEvent, HostLink
from people.models import Person


@transaction.atomic
def try_again(*, host: Host, by: Person | None) -> bool:
    """Somebody has seen to the login. False if nothing was kept from trying."""
    waiting = HostLink.objects.filter(host=host, refusals__gt=0)
    if not waiting.update(refusals=0):
        return False
    HostEvent.objects.create(host=host, kind=HostEvent.Kind.TRY_AGAIN, by=by)
    return True
