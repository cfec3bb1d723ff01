"""When the database is away for a moment: what is raised then, and how work goes on afterwards.

Django looks after a connection only between two web requests; a conductor or worker has none.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, InternalError, OperationalError, connections

log = logging.getLogger(__name__)

# Restarted, out of connections or of disk, a lock not had in time: none is a fault of the caller.
# (PostgreSQL calls a transaction that it ended for idling an internal error.)
TROUBLE = (OperationalError, InterfaceError, InternalError)
PAUSE_S = 0.5

Result = TypeVar("Result")


def mend() -> None:
    """Close this thread's connections that work no more; the next query makes new ones."""
    for connection in connections.all(initialized_only=True):
        if connection.connection is None or connection.in_atomic_block:
            continue
        if connection.errors_occurred and not connection.is_usable():
            connection.close()


def persist(write: Callable[[], Result], seconds: float) -> Result:
    """What ``write`` returns, tried for so long while the database is in trouble.

    ``write`` must change nothing when it is done twice. Raises its last error after that time.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            return write()
        except TROUBLE as error:
            if time.monotonic() > until:
                raise
            log.warning("the database is asked again: %s", error)
            mend()
            time.sleep(PAUSE_S)
