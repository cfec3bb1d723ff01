"""Links that a process keeps between two pieces of work, in a loop of its own thread."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import close_old_connections

from hosts.links import Links, target_of
from hosts.node import Node
from hosts.transport.errors import CommandTimedOut, LinkLost
from hosts.transport.protocol import Target

T = TypeVar("T")


class Pool:
    """One link per host, closed when nobody has needed it for ``link_idle`` seconds.

    A worker's tasks are short and come in bursts; a login for each of them would be what sshd's
    limits are made against. The thread is begun where it is first needed: a pool's children are
    forked, and threads do not survive that.
    """

    def __init__(self) -> None:
        self._pid = 0
        self._begin = threading.Lock()
        self._links = Links(patient=False)
        self._users: Counter[int] = Counter()
        self._used: dict[int, float] = {}

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work``, done in the pool's loop; an interrupted wait ends it."""
        waiting = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            return waiting.result()
        finally:
            waiting.cancel()

    @asynccontextmanager
    async def open(self, host: int) -> AsyncIterator[Node]:
        """The host's node, over the kept link if that is alive and leads where it should."""
        await self._links.stay_true(host, await sync_to_async(_target_now)(host))
        node = await self._links.node(host)
        self._users[host] += 1
        try:
            yield node
        except (LinkLost, CommandTimedOut):
            await self._links.drop(host)
            raise
        finally:
            self._users[host] -= 1
            loop = asyncio.get_running_loop()
            self._used[host] = loop.time()
            loop.call_later(settings.DURATIONS.link_idle, self._tidy, host)

    def close(self) -> None:
        """Close every link; the next piece of work opens one again."""
        if self._pid == os.getpid():
            self.run(self._links.close())

    def _tidy(self, host: int) -> None:
        loop = asyncio.get_running_loop()
        idle = loop.time() - self._used[host]
        if not self._users[host] and idle >= settings.DURATIONS.link_idle * 0.99:
            self._closing = loop.create_task(self._links.drop(host))

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._begin:
            if self._pid != os.getpid():
                self._pid = os.getpid()
                self._links = Links(patient=False)
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="links", daemon=True).start()
            return self._loop


def _target_now(host: int) -> Target:
    """Here nobody closes a connection to the database that has died, as Celery does."""
    close_old_connections()
    return target_of(host)


POOL = Pool()
