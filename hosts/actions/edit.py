"""Change where a host is reached and how. What was changed is kept with a name and a time."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from hosts.models import Host, HostEvent, HostLease, Installation
from people.models import Person

FIELDS = {
    "address": "address",
    "port": "port",
    "jump": "through",
    "user": "user",
    "key_path": "private key file",
    "agent_path": "agent socket",
    "agent_key": "key in the agent",
    "labels": "labels",
}
PLACE = ("address", "port")  # another place may be another machine
WAY = (*PLACE, "jump")


class InUse(Exception):
    """Something runs there by the way that was to be changed; nothing was changed."""


@transaction.atomic
def edit_host(*, host: Host, by: Person | None) -> list[str]:
    """Keep the changed values of ``host``; returns the names of the fields that differed.

    With another address or port its confirmed keys are forgotten: nothing logs in until a person
    has compared the key that is shown there. Raises InUse while a run holds the host or one behind
    it, and for another way to a host in quarantine, whose leftovers would be looked for elsewhere.
    """
    Installation.locked()  # no lease is granted until this has ended
    kept = Host.objects.select_related("jump").get(pk=host.pk)
    changed = [name for name in FIELDS if getattr(kept, name) != getattr(host, name)]
    if not changed:
        return []
    _refuse_in_use(kept, changed)
    told = [f"{FIELDS[name]}: {_shown(kept, name)} → {_shown(host, name)}" for name in changed]
    forgotten = list(kept.keys.all()) if set(changed) & set(PLACE) else []
    if forgotten:
        told.append(f"forgotten: {', '.join(key.fingerprint for key in forgotten)}")
        kept.keys.all().delete()
    host.save(update_fields=changed)
    HostEvent.objects.create(host=host, kind=HostEvent.Kind.EDITED, text="; ".join(told), by=by)
    return changed


def _refuse_in_use(host: Host, changed: list[str]) -> None:
    concerned = [host.pk, *host.all_behind()]
    for lease in HostLease.objects.filter(host__in=concerned).select_related("host"):
        if lease.in_quarantine and not set(changed) & set(WAY):
            continue  # a login that is put right may bring the evidence that frees it
        through = "" if lease.host_id == host.pk else f", which is reached through {host}"
        what = "Free it first, or wait." if lease.in_quarantine else "Wait for its end, or stop it."
        raise InUse(f"{lease.in_words()}{through}. Nothing was changed. {what}")


def _shown(host: Host, name: str) -> str:
    value: Any = getattr(host, name)
    if isinstance(value, list):
        value = ", ".join(value)
    return str(value) if value not in (None, "") else "none"
