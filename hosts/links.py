"""Links to nodes: one for a single piece of work, or one kept per host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from django.conf import settings

from hosts.node import Node
from hosts.transport.protocol import Limits, Target
from hosts.transport.ssh import connect


def limits() -> Limits:
    """The durations that the transport keeps."""
    times = settings.DURATIONS
    return Limits(
        connect_s=times.connect,
        login_s=times.login,
        keepalive_s=times.keepalive,
        keepalive_count=3,
        channels=6,
    )


@asynccontextmanager
async def open_node(target: Target) -> AsyncIterator[Node]:
    """A link for one piece of work, with the node kit in place; closed behind it."""
    connection = await connect(target, limits())
    try:
        node = Node(connection)
        await node.ensure_kit()
        yield node
    finally:
        await connection.close()


class Links:
    """One kept connection per target and run, made anew when it was lost.

    A run follows a few files at once; several runs on one host would soon want more channels than
    a connection may have.
    """

    def __init__(self) -> None:
        self._nodes: dict[tuple[Target, str], Node] = {}
        self._locks: dict[tuple[Target, str], asyncio.Lock] = {}

    async def node(self, target: Target, run: str = "") -> Node:
        """The node behind ``target``; raises the transport's errors while it cannot be reached."""
        lock = self._locks.setdefault((target, run), asyncio.Lock())
        async with lock:
            node = self._nodes.get((target, run))
            if node is None or node.connection.closed:
                connection = await connect(target, limits())
                node = Node(connection)
                await node.ensure_kit()
                self._nodes[target, run] = node
            return node

    async def leave(self, run: str) -> None:
        """Nothing is read for this run any more."""
        for key in [key for key in self._nodes if key[1] == run]:
            await self._nodes.pop(key).connection.close()
            self._locks.pop(key, None)

    async def close(self) -> None:
        for node in self._nodes.values():
            await node.connection.close()
        self._nodes.clear()
