"""Ask a machine how one of its units stands."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings

from hosts.launchers.setup import UnitSetup, unit_setup
from hosts.links import open_node
from hosts.models import Host
from hosts.transport.protocol import Target


def ask_unit(*, host: Host, unit: str, restart_only: bool) -> UnitSetup:
    """What has to be installed there. Changes nothing; raises TransportError or KitError."""
    told = async_to_sync(_told)(host.target(), unit)
    return unit_setup(told, restart_only=restart_only)


async def _told(target: Target, unit: str) -> dict[str, Any]:
    async with open_node(target) as node:
        return await node.call("unit", {"unit": unit}, timeout=settings.DURATIONS.command)
