"""Links to nodes: one for a single piece of work, or kept, one per host and run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress

from asgiref.sync import sync_to_async
from django.conf import settings

from hosts.door import Door
from hosts.models import Host, HostLink
from hosts.node import Node
from hosts.transport.errors import TransportError
from hosts.transport.protocol import Limits, Target
from hosts.transport.ssh import connect

# Nodes that did not answer last time and are tried at once; others are not kept waiting.
RETRIES = 32
MORE = 2  # connections beside the first, for a run that reads three files


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
    """One kept connection per host and run, made anew when it was lost.

    A run follows a few files at once; several runs on one host would soon want more channels than
    a connection may have. Hosts are named by their key: how to log in is read at every try, so
    that a host key that was confirmed, or a changed login, reaches runs that are under way.
    """

    def __init__(self, *, patient: bool = True) -> None:
        """``patient``: wait until a try is due; else raise what the last one met."""
        self.patient = patient
        self._nodes: dict[tuple[int, str], Node] = {}
        self._targets: dict[int, Target] = {}
        self._full: dict[tuple[int, str], list[Node]] = {}
        self._doors: dict[int, Door] = {}
        self._retries = asyncio.Semaphore(RETRIES)

    async def node(self, host: int, run: str = "") -> Node:
        """The node of a host; raises the transport's errors while it cannot be reached."""
        if (node := self._living(host, run)) is not None:
            return node
        door = self._doors.setdefault(host, Door())
        tries = door.tries
        async with door.lock:
            if (node := self._living(host, run)) is not None:
                return node
            if door.error is not None and (door.tries != tries or self._too_early(door)):
                raise door.error  # somebody has tried for all who waited
            await self.allowed(host)
            await door.wait()
            async with self._retries if door.faults else nullcontext():
                node = await self._open(host, door)
            self._nodes[host, run] = node
            return node

    def _living(self, host: int, run: str) -> Node | None:
        node = self._nodes.get((host, run))
        return None if node is None or node.connection.closed else node

    def _too_early(self, door: Door) -> bool:
        return not self.patient and door.pause > 0

    async def allowed(self, host: int) -> None:
        """Raise what keeps everybody from the host until a person has acted, if anything does."""
        if (barrier := await sync_to_async(_barrier)(host)) is not None:
            raise barrier

    async def _open(self, host: int, door: Door) -> Node:
        target = await sync_to_async(target_of)(host)
        try:
            connection = await connect(target, limits())
            try:
                node = Node(connection)
                await node.ensure_kit()
            except BaseException:
                await connection.close()
                raise
        except TransportError as error:
            door.tried(error)
            await sync_to_async(HostLink.saw)(host, target, error)
            raise
        except BaseException:
            door.tried(None)  # it was reached; what is wrong there is told by others
            raise
        door.tried(None)
        self._targets[host] = target
        await sync_to_async(HostLink.saw)(host, target, None)
        return node

    async def stay_true(self, host: int, target: Target) -> None:
        """Close a link that leads elsewhere than the host's settings say by now."""
        if self._targets.get(host, target) != target:
            self._doors.pop(host, None)
            await self.drop(host)

    def set_aside(self, host: int, run: str, node: Node) -> bool:
        """Its node opens no more sessions on it: who comes next gets a connection of their own.

        False if that has been done often enough; then it is trouble like any other.
        """
        aside = self._full.setdefault((host, run), [])
        if self._nodes.get((host, run)) is node and len(aside) < MORE:
            aside.append(self._nodes.pop((host, run)))
        return node in aside

    async def drop(self, host: int, run: str = "") -> None:
        """Close this link; the next who asks gets a new one."""
        node = self._nodes.pop((host, run), None)
        for each in [*([node] if node else []), *self._full.pop((host, run), [])]:
            with suppress(TransportError):
                await each.connection.close()

    async def leave(self, run: str) -> None:
        """Nothing is read for this run any more."""
        for host, of in {*self._nodes, *self._full}:
            if of == run:
                await self.drop(host, run)

    async def close(self) -> None:
        for host, run in {*self._nodes, *self._full}:
            await self.drop(host, run)


def target_of(host: int) -> Target:
    return Host.objects.get(pk=host).target()


def _barrier(host: int) -> TransportError | None:
    return HostLink.barrier(host, target_of(host))
