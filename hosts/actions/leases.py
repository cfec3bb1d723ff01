"""What a person may decide about the use of a host. Each decision is kept with their name."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from hosts.models import Host, HostEvent, HostLease, Installation
from people.models import Person


@transaction.atomic
def free_quarantine(*, lease: HostLease, note: str, by: Person | None) -> bool:
    """Somebody has looked: nothing of it runs any more. False if it is free already."""
    Installation.locked()
    waiting = HostLease.objects.filter(pk=lease.pk, status=HostLease.Status.QUARANTINED)
    kept = waiting.select_related("host").first()
    if kept is None:
        return False
    HostEvent.objects.create(
        host=kept.host, kind=HostEvent.Kind.FREED, text=kept.in_words(), note=note, by=by
    )
    kept.delete()
    return True


@transaction.atomic
def take_over(*, host: Host, note: str, by: Person | None) -> None:
    """The next order to the node makes it ours; its former owner is refused from then on."""
    host.takeover_at = timezone.now()
    host.save(update_fields=["takeover_at"])
    HostEvent.objects.create(host=host, kind=HostEvent.Kind.TAKEN_OVER, note=note, by=by)


def note_taken_over(*, host: Host) -> None:
    """The node has heard of it. Kept any longer, it would take back what somebody else takes."""
    Host.objects.filter(pk=host.pk, takeover_at=host.takeover_at).update(takeover_at=None)
