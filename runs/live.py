"""The live feed's bell: after a commit, Redis wakes whoever watches a run.

The stream ``live:<run>`` carries only what changed, never the data: watchers read the database
from their own cursor. So a lost Redis costs delay, not truth, and nothing can fall between.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable
from functools import cache
from typing import Any, cast

import redis
import redis.asyncio
from django.conf import settings

log = logging.getLogger(__name__)

KEEP = 200  # entries; a watcher needs only to know that there was one
SILENT_S = 5.0  # after a ring that failed, none is tried: whoever stores a log waits for each


def key(run_id: int) -> str:
    return f"live:{run_id}"


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1)


class _Trouble:
    """Says once that Redis is away and once that it is back, not at every ring."""

    away = False
    until = 0.0  # on the monotonic clock

    @classmethod
    def saw(cls, error: Exception | None) -> None:
        if error is not None and not cls.away:
            log.warning("the live feed is silent, pages poll until it is back: %s", error)
        if error is None and cls.away:
            log.info("the live feed is back")
        cls.away = error is not None
        cls.until = time.monotonic() + SILENT_S if cls.away else 0.0


def announce(run_id: int, what: str) -> None:
    """Tell the watchers of a run that ``what`` changed. Never fails: they poll as well."""
    if time.monotonic() < _Trouble.until:
        return
    try:
        _client().xadd(key(run_id), {"what": what}, maxlen=KEEP, approximate=True)
    except redis.RedisError as error:
        _Trouble.saw(error)
    else:
        _Trouble.saw(None)


class Watch:
    """Waits for the next ring of one run; used by one async view."""

    def __init__(self, run_id: int) -> None:
        self._key = key(run_id)
        self._client = redis.asyncio.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=1)
        self._last = "$"

    async def wait(self, seconds: float) -> bool:
        """True when something rang within ``seconds``; False after that time.

        Raises :class:`redis.RedisError` if Redis cannot be asked (the caller then polls).
        """
        asked = self._client.xread({self._key: self._last}, block=int(seconds * 1000), count=KEEP)
        found = await cast("Awaitable[list[tuple[bytes, list[tuple[bytes, dict]]]]]", asked)
        if not found:
            return False
        self._last = found[0][1][-1][0].decode()
        return True

    async def start(self) -> None:
        """Fix the starting point, so that rings before the first wait are not missed."""
        newest: Any = await self._client.xrevrange(self._key, count=1)
        self._last = newest[0][0].decode() if newest else "0"

    async def close(self) -> None:
        await self._client.aclose()
