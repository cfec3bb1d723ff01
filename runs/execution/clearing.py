"""Run folders left on a node, taken away when a person asks for it: only what was proven equal."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from hosts.links import open_node
from hosts.models import Host, HostLease
from hosts.node import KitError
from hosts.transport.errors import TransportError
from hosts.transport.protocol import Target
from runs.models import Event, LogStream, Run, State
from runs.models.states import FINAL

REMOVED = "folder-removed"
AT_ONCE = 20  # a request; gigabytes may hang on each


class NotCleared(Exception):
    """The node could not be asked, or would not."""


@dataclass
class Cleared:
    """What became of the folders of these runs, and how many bytes of disk that gave back."""

    removed: list[Run] = field(default_factory=list)
    alive: list[Run] = field(default_factory=list)
    absent: list[Run] = field(default_factory=list)
    freed: int = 0


def clearable(host: Host, *, days: float) -> QuerySet[Run]:
    """Runs that ended so long ago and of whose logs nothing is on the node alone.

    A LOST run's folder is its late evidence, a log that was not proven may be there only, even
    where nothing of it came here, and what still holds something of the host may be looked for.
    """
    streams = LogStream.objects.filter(attempt__run=OuterRef("pk"))
    # a node without GPUs never begins that log
    never_begun = Q(role=LogStream.Role.GPU, position=0)
    ended = Run.objects.filter(
        Exists(streams.filter(complete=True)),
        ~Exists(streams.filter(~never_begun, complete=False)),
        ~Exists(Event.objects.filter(run=OuterRef("pk"), kind=REMOVED)),
        host=host,
        imported=False,
        state__in=[state for state in FINAL if state != State.LOST],
        ended_at__lt=Now() - timedelta(days=days),
    )
    held = set(HostLease.objects.filter(host=host).values_list("holder", flat=True))
    return ended.exclude(uid__in=held).order_by("ended_at", "pk")


def clear(host: Host, runs: list[Run], *, actor: str) -> Cleared:
    """Have the node remove them and keep an event of each. Raises :class:`NotCleared`."""
    cleared = Cleared()
    for at in range(0, len(runs), AT_ONCE):
        some = {str(run.uid): run for run in runs[at : at + AT_ONCE]}
        try:
            told = async_to_sync(_remove)(host.target(), list(some))
        except (TransportError, KitError) as error:
            raise NotCleared(f"{error} What was removed before is an event of its run.") from error
        for run in [some[name] for name in told["removed"]]:
            _note(run, actor, "was removed")
            cleared.removed.append(run)
        for run in [some[name] for name in told["absent"]]:
            _note(run, actor, "was gone already")
            cleared.absent.append(run)
        cleared.alive.extend(some[name] for name in told["alive"])
        cleared.freed += told["bytes"]
    return cleared


async def _remove(target: Target, names: list[str]) -> dict[str, Any]:
    async with open_node(target) as node:
        return await node.call("remove", {"runs": names}, timeout=settings.DURATIONS.verb)


def _note(run: Run, actor: str, what: str) -> None:
    Event.objects.create(
        run=run,
        kind=REMOVED,
        at=timezone.now(),
        text=f"Its folder on {run.host.name} {what}; its logs had been proven equal to what is "
        "stored here.",
        actor=actor,
    )
