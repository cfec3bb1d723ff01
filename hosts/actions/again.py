"""Let a host be tried again where nobody tries any more."""

from __future__ import annotations

from django.db import transaction

from hosts.models import Host, HostEvent, HostLink
from people.models import Person


@transaction.atomic
def try_again(*, host: Host, by: Person | None) -> bool:
    """Somebody has seen to the login, or to the machine that answered in the host's place.

    A host key is compared before any login, so a try costs nothing where it is still another.
    False if nothing was kept from trying.
    """
    waiting = HostLink.objects.filter(host=host).exclude(tried_with="")
    if not waiting.update(refusals=0, tried_with=""):
        return False
    HostEvent.objects.create(host=host, kind=HostEvent.Kind.TRY_AGAIN, by=by)
    return True
