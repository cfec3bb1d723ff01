"""Keep the host key that a person has confirmed."""

from __future__ import annotations

from django.db import transaction

from hosts.fingerprint import fingerprint
from hosts.models import Host, HostKey
from people.models import Person


@transaction.atomic
def confirm_host_key(*, host: Host, public: str, by: Person | None) -> HostKey:
    """From now on the host is recognised by this key alone; earlier keys are forgotten.

    Raises ValueError if ``public`` is no public key.
    """
    shown = fingerprint(public)
    host.keys.exclude(public=public).delete()
    kept, _ = HostKey.objects.get_or_create(
        host=host, public=public, defaults={"fingerprint": shown, "confirmed_by": by}
    )
    return kept
