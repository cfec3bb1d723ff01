"""When one host may be tried again, and by how many at once."""

from __future__ import annotations

import asyncio
import random

from django.conf import settings

from hosts.transport.errors import TransportError


class Door:
    """The tries of one process to connect to one host: one at a time, with pauses between them."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.tries = 0
        self.faults = 0  # in a row
        self.error: TransportError | None = None  # of the last try
        self._not_before = float("-inf")

    @property
    def pause(self) -> float:
        """Seconds until the next try is due; not above 0 if it may be made now."""
        return self._not_before - asyncio.get_running_loop().time()

    async def wait(self) -> None:
        await asyncio.sleep(max(0.0, self.pause))

    def tried(self, error: TransportError | None) -> None:
        """Note how a try ended. The pauses double, and no two hosts keep step with each other."""
        self.tries += 1
        self.error = error
        self.faults = self.faults + 1 if error else 0
        times = settings.DURATIONS
        longer = times.pace * 2 ** min(self.faults, 10) / 2 if error else times.pace
        pause = max(times.pace, min(times.pause_most, longer) * random.uniform(0.75, 1.25))
        self._not_before = asyncio.get_running_loop().time() + pause
