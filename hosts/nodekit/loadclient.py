"""A closed loop of streamed requests over one epoll: single-threaded, so that it costs little.

A thread or a task per stream costs several times the work itself at 256 streams. Here one packet is
one `recv`, one look at the bytes, and a few additions.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Tuple

from .loadexchange import Exchange, Job, Over, failure, measured
from .loadstats import Measured
from .loadstream import ProtocolError

RECEIVE_BYTES = 64 * 1024
TICK_S = 0.1  # how often time-outs, progress and a stop are looked at
# A server that answers nobody for this many rounds of the whole concurrency is not asked further.
MUTE_ROUNDS = 2
MADE_AT_ONCE = 8  # requests made between two looks at the sockets, about 0.2 ms
MADE_BYTES = 4 * 1024 * 1024
MUTE = "not sent: none of the last {} requests was answered in time"

Address = Tuple[int, Any]  # address family, and what connect() takes


def find_address(host: str, port: int) -> Address:
    """The first address of the host that takes a connection, else its first. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [(entry[0], entry[4]) for entry in found]
    for family, address in addresses if len(addresses) > 1 else []:
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.settimeout(2.0)
                probe.connect(address)
            return family, address
        except OSError:
            continue
    return addresses[0]


class Connection:
    """A socket that carries one exchange after the other."""

    __slots__ = ("exchange", "fresh", "sock", "unsent")

    def __init__(self) -> None:
        self.sock: Optional[socket.socket] = None
        self.exchange: Optional[Exchange] = None
        self.unsent = b""
        self.fresh = True  # nothing has been answered over it yet


class Loop:
    """Keeps a number of requests in flight until the jobs are used up. One loop per level."""

    def __init__(
        self,
        address: Address,
        timeout_s: float,
        on_tick: Callable[[float, int], None],
        stopping: Callable[[], bool],
    ) -> None:
        self.address = address
        self.timeout_s = timeout_s
        self.on_tick = on_tick  # gets the time and how many are in flight
        self.stopping = stopping
        self.on_end: Callable[[Measured], None] = lambda measured: None
        self.jobs: Iterator[Job] = iter(())
        self.ready: Deque[Job] = deque()  # made ahead, so that an answer's end finds the next
        self.over: List[Over] = []  # ended, and not yet accounted for
        self.poll = select.epoll()
        self.connections: Dict[int, Connection] = {}
        self.idle: List[Connection] = []
        self.inflight = 0
        self.mute = 0  # requests that timed out since the last one that did not
        self.mute_limit = 0

    def close(self) -> None:
        for connection in list(self.connections.values()):
            self._drop(connection)
        self.poll.close()

    def run(
        self, jobs: Iterator[Job], concurrency: int, on_end: Callable[[Measured], None]
    ) -> None:
        """Returns when every request has ended. After a stop, those not yet sent are not told."""
        self.jobs = jobs
        self.on_end = on_end
        self.mute_limit = MUTE_ROUNDS * concurrency
        for _ in range(concurrency):
            self._next(self.idle.pop() if self.idle else Connection())
        next_look = 0.0
        while self.inflight:
            for fd, _ in self.poll.poll(min(TICK_S, self.timeout_s / 4)):
                connection = self.connections.get(fd)
                if connection is not None:
                    self._serve(connection)
            # Only now: many answers may end at once, and the next requests go out first.
            self._account()
            self._prepare(concurrency)
            now = time.monotonic()
            if now >= next_look:
                next_look = now + min(TICK_S, self.timeout_s / 4)
                self._look_around(now)
        self._account()

    def _prepare(self, most: int) -> None:
        for _ in range(MADE_AT_ONCE):
            if len(self.ready) >= most or sum(len(job.data) for job in self.ready) > MADE_BYTES:
                return
            job = next(self.jobs, None)
            if job is None:
                return
            self.ready.append(job)

    def _look_around(self, now: float) -> None:
        if self.stopping():
            self.jobs = iter(())
            self.ready.clear()
            self._fail_all(failure("stopped", "the run was stopped"), now + 1)
        late = failure("timeout", "no complete answer within {:g} s".format(self.timeout_s))
        self._fail_all(late, now - self.timeout_s)
        self.on_tick(now, self.inflight)

    def _fail_all(self, error: Dict[str, Any], sent_before: float) -> None:
        for connection in list(self.connections.values()):
            exchange = connection.exchange
            if exchange is not None and exchange.send < sent_before:
                self._fail(connection, error)

    # The course of one request

    def _next(self, connection: Connection) -> None:
        """The next job goes out; those that fail at once are ended one after another."""
        while True:
            job = self.ready.popleft() if self.ready else next(self.jobs, None)
            if job is None:
                break
            exchange = Exchange(job, time.monotonic())
            if self.mute >= self.mute_limit:
                given_up = failure("not-sent", MUTE.format(self.mute))
                self.over.append(Over(exchange, exchange.send, given_up, False))
                continue
            connection.exchange = exchange
            self.inflight += 1
            error = self._send(connection, job.data)
            if error is None:
                return
            self._end(connection, error)
        self.idle.append(connection)

    def _send(self, connection: Connection, data: bytes) -> Optional[Dict[str, Any]]:
        connection.unsent = data
        try:
            if connection.sock is not None and self._push(connection):
                return None
            self._connect(connection)
        except OSError as error:
            self._drop(connection)
            return failure("connect", _say(error))
        return None

    def _connect(self, connection: Connection) -> None:
        family, address = self.address
        connection.sock = sock = socket.socket(family, socket.SOCK_STREAM)
        connection.fresh = True
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        code = sock.connect_ex(address)
        if code not in (0, errno.EINPROGRESS):
            raise OSError(code, os.strerror(code))
        self.poll.register(sock, select.EPOLLIN | select.EPOLLOUT)
        self.connections[sock.fileno()] = connection

    def _push(self, connection: Connection) -> bool:
        """Sends what the socket takes. False when a connection that was kept open has died."""
        sock = connection.sock
        assert sock is not None
        before = connection.unsent
        try:
            connection.unsent = before[sock.send(before) :]
        except BlockingIOError:
            pass  # full: epoll tells when it takes more
        except OSError:
            if connection.fresh:
                raise
            self._drop(connection)
            return False
        waits = select.EPOLLOUT if connection.unsent else 0
        if waits or connection.fresh:
            self.poll.modify(sock, select.EPOLLIN | waits)
        return True

    def _serve(self, connection: Connection) -> None:
        sock, exchange = connection.sock, connection.exchange
        assert sock is not None
        try:
            if connection.unsent and not self._push(connection):
                data = b""
            else:
                data = sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._closed(connection, error)
            return
        if exchange is None:
            self._drop(connection)  # the server ended a connection that was waiting for work
        elif data:
            self._take(connection, exchange, data)
        else:
            self._closed(connection, None)

    def _take(self, connection: Connection, exchange: Exchange, data: bytes) -> None:
        connection.fresh = False
        now = time.monotonic()
        try:
            done = exchange.take(data, now)
        except ProtocolError as error:
            self._fail(connection, failure("protocol", str(error), exchange.response.status))
            return
        if done:
            self._complete(connection, exchange)

    def _complete(self, connection: Connection, exchange: Exchange) -> None:
        if not exchange.response.keep_alive:
            self._drop(connection)
        self._end(connection, None)
        self._next(connection)

    def _closed(self, connection: Connection, error: Optional[OSError]) -> None:
        exchange = connection.exchange
        nothing_sent = exchange is not None and connection.unsent == exchange.job.data
        was_fresh = connection.fresh
        self._drop(connection)
        if exchange is None:
            return
        whole = exchange.response.close()
        exchange.settle(time.monotonic())
        if whole or exchange.answer.finished:
            self._complete(connection, exchange)
        elif not exchange.response.begun and not was_fresh and not exchange.retried:
            self._retry(connection, exchange)
        elif was_fresh and nothing_sent and error is not None:
            self._fail(connection, failure("connect", _say(error)))
        else:
            self._fail(connection, _cut(exchange, error))

    def _retry(self, connection: Connection, exchange: Exchange) -> None:
        """A kept connection was closed just as we used it: once more over a new one.

        The time of the first sending stands, so a server that drops requests does not look fast.
        """
        exchange.retried = True
        error = self._send(connection, exchange.job.data)
        if error is not None:
            self._fail(connection, error)

    def _fail(self, connection: Connection, error: Dict[str, Any]) -> None:
        self._drop(connection)
        self._end(connection, error)
        self._next(connection)

    def _drop(self, connection: Connection) -> None:
        sock, connection.sock = connection.sock, None
        if sock is not None:
            self.connections.pop(sock.fileno(), None)
            sock.close()  # and epoll forgets it

    def _end(self, connection: Connection, error: Optional[Dict[str, Any]]) -> None:
        exchange, connection.exchange = connection.exchange, None
        assert exchange is not None
        self.inflight -= 1
        self.over.append(Over(exchange, time.monotonic(), error, True))

    def _account(self) -> None:
        over, self.over = self.over, []
        for ended in over:
            exchange = ended.exchange
            exchange.settle(ended.at)
            error = ended.error or exchange.problem()
            if ended.sent:
                timed_out = error is not None and error["kind"] == "timeout"
                self.mute = self.mute + 1 if timed_out else 0
            self.on_end(measured(ended, error))


def _cut(exchange: Exchange, error: Optional[OSError]) -> Dict[str, Any]:
    begun = exchange.response.begun
    message = "the stream ended before [DONE]" if begun else "closed before any answer"
    if error is not None:
        message += ": " + _say(error)
    return failure("cut", message, exchange.response.status)


def _say(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
