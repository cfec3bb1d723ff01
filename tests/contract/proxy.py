"""A wire that can be cut: a TCP proxy on loopback, in the test's own event loop."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Proxy:
    """Forwards to ``port`` until it is told to break."""

    def __init__(self, to_port: int) -> None:
        self.port = 0
        self.to_port = to_port
        self.refusing = False
        self.accepted: list[float] = []  # when connections were made, on the monotonic clock
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted.append(time.monotonic())
        try:
            if self.refusing:
                raise ConnectionRefusedError
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.to_port)
        except OSError:
            writer.transport.abort()
            return
        self._writers += [writer, far_writer]
        for source, to in ((reader, far_writer), (far_reader, writer)):
            task = asyncio.ensure_future(self._pump(source, to))
            self._tasks.add(task)

    async def _pump(self, source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                await self._flowing.wait()
                to.write(data)
                await to.drain()
            to.close()
        except OSError:
            to.close()

    def freeze(self) -> None:
        """Nothing arrives any more, and nobody is told: the cable is out."""
        self._flowing.clear()

    def thaw(self) -> None:
        """What was held back arrives, as after a partition."""
        self._flowing.set()

    def reset(self) -> None:
        """Every connection gets a TCP reset."""
        for writer in self._writers:
            sock: socket.socket | None = writer.get_extra_info("socket")
            if sock is not None and sock.fileno() >= 0:
                linger_not = struct.pack("ii", 1, 0)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_not)
            writer.transport.abort()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()


@asynccontextmanager
async def running_proxy(to_port: int) -> AsyncIterator[Proxy]:
    proxy = Proxy(to_port)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()
        await asyncio.sleep(0)  # the aborted transports close their sockets in the next turn
