"""Ask a machine what it is."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.utils import timezone

from hosts.links import open_node
from hosts.models import Host, HostFacts, HostLink
from hosts.transport.protocol import Target


def probe_host(*, host: Host) -> HostFacts:
    """Log in, ask the node kit for the facts and keep them.

    Raises TransportError or KitError; both tell in a sentence what happened and what to do.
    """
    target = host.target()
    data = async_to_sync(_facts)(target)
    HostLink.saw(host.pk, target, None)  # runs that wait for a person go on
    return keep_facts(host=host, data=data)


def keep_facts(*, host: Host, data: dict[str, Any]) -> HostFacts:
    """The host's latest facts. A machine that calls an engine simulated is called so itself.

    The folders of runs are asked for by people only: they stay as they were last seen.
    """
    before = HostFacts.objects.filter(host=host).values_list("data__run_folders", flat=True).first()
    if before and "run_folders" not in data:
        data = {**data, "run_folders": before}
    facts, _ = HostFacts.objects.update_or_create(
        host=host, defaults={"data": data, "probed_at": timezone.now()}
    )
    told = [engine for engine in data.get("engines") or [] if engine.get("simulated")]
    if told and not host.simulated:
        host.simulated = True
        host.save(update_fields=["simulated"])
    return facts


async def _facts(target: Target) -> dict[str, Any]:
    async with open_node(target) as node:
        facts = await node.call("facts", {}, timeout=settings.DURATIONS.command)
        folders = await node.call("folders", {}, timeout=settings.DURATIONS.command)
        return {**facts, "run_folders": {**folders, "seen": facts["time"]}}
