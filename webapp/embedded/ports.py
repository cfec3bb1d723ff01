"""Loopback ports: the one asked for if it is free, else any."""

from __future__ import annotations

import socket
from random import SystemRandom

LOOPBACK = "127.0.0.1"
QUIET = (20_000, 30_000)


def is_free(port: int) -> bool:
    """Whether this process could listen on that loopback port now."""
    with socket.socket() as probe:
        # As servers do: a port whose last connections are still closing counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def is_served(port: int) -> bool:
    """Whether somebody accepts connections on that loopback port."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((LOOPBACK, port)) == 0


def any_free() -> int:
    """A port nobody listens on. Another process may take it before its user does."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
    return port


def quiet() -> int:
    """A free one below those that outgoing connections are given, so nobody takes it meanwhile."""
    chance = SystemRandom()  # a seeded one would try the same ports in every process
    tried = (chance.randrange(*QUIET) for _ in range(1000))
    return next(port for port in tried if is_free(port))


def choose(wanted: int) -> int:
    """``wanted`` if it is free, else another one."""
    return wanted if is_free(wanted) else any_free()
