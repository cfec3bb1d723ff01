"""Keep the host key that a person has confirmed."""

from __future__ import annotations

from django.db import transaction

from hosts.fingerprint import fingerprint
from hosts.models import Host, HostEvent, HostKey
from people.models import Person


@transaction.atomic
def confirm_host_key(*, host: Host, public: str, by: Person | None) -> HostKey:
    """From now on the host is recognised by this key alone; earlier keys are forgotten.

    Raises ValueError if ``public`` is no public key.
    """
    shown = fingerprint(public)
    before = ", ".join(host.keys.exclude(public=public).values_list("fingerprint", flat=True))
    host.keys.exclude(public=public).delete()
    kept, new = HostKey.objects.get_or_create(
        host=host, public=public, defaults={"fingerprint": shown, "confirmed_by": by}
    )
    if new:
        text = f"{shown}, in place of {before}" if before else shown
        HostEvent.objects.create(host=host, kind=HostEvent.Kind.KEY_CONFIRMED, text=text, by=by)
    return kept
