"""A wire between us and a node, in a thread of its own, for tests that cut it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.contract.proxy import running_proxy


class Wire:
    """Every method may be called from any thread; it has happened when it returns."""

    def __init__(self, to_port: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._over = asyncio.Event()
        self._to_port = to_port
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    def _run(self) -> None:
        async def run() -> None:
            async with running_proxy(self._to_port) as self.proxy:
                self._ready.set()
                await self._over.wait()

        self._loop.run_until_complete(run())
        self._loop.close()

    def _do(self, what: Callable[[], None]) -> None:
        done = threading.Event()

        def do() -> None:
            what()
            done.set()

        self._loop.call_soon_threadsafe(do)
        assert done.wait(10)

    @property
    def port(self) -> int:
        return self.proxy.port

    @property
    def accepted(self) -> list[float]:
        return list(self.proxy.accepted)

    def lead_to(self, port: int) -> None:
        self.proxy.to_port = port

    def vanish(self) -> None:
        """A partition: what is sent is swallowed, and nobody is told."""
        self._do(self.proxy.freeze)

    def cut(self) -> None:
        """Every connection is reset."""
        self._do(self.proxy.reset)

    def refuse(self) -> None:
        """Every connection is reset, and new ones as well."""
        self.proxy.refusing = True
        self.cut()

    def restore(self) -> None:
        self.proxy.refusing = False
        self._do(self.proxy.thaw)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)


@contextmanager
def running_wire(to_port: int) -> Iterator[Wire]:
    wire = Wire(to_port)
    try:
        yield wire
    finally:
        wire.close()
