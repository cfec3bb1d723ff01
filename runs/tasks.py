"""What Celery calls. A task takes an id, calls one function and lets it raise."""

from __future__ import annotations

import logging
import os
import socket
import threading
from typing import Any

from celery import shared_task
from celery.signals import worker_shutting_down
from django.conf import settings
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

# Made before a worker forks its pool, so that the whole worker has one name.
WORKER = f"{socket.gethostname()}:{os.getpid()}"


@shared_task
def carry_out(operation_id: int) -> None:
    from runs.execution.verbs import perform

    perform(operation_id, WORKER)


def ring(operation_id: int) -> bool:
    """Wake a worker for an operation. False if the broker cannot be reached: ring again later."""
    try:
        carry_out.apply_async((operation_id,), retry=False, ignore_result=True)
    except (OperationalError, OSError) as error:
        log.warning("operation %s not rung: %s", operation_id, error)
        return False
    return True


@worker_shutting_down.connect
def _drain(**_: Any) -> None:
    """Told to end, a worker finishes what it holds within ``drain`` s, or gives it back."""
    giving_back = threading.Timer(settings.DURATIONS.drain, give_back)
    giving_back.daemon = True
    giving_back.start()


def give_back() -> None:
    """Let other workers take what this one has not finished."""
    from django.db import connection

    from runs.models import Operation

    try:
        if held := Operation.objects.give_back(WORKER):
            log.warning("%s is ending: %s operations were given back", WORKER, held)
    finally:
        connection.close()
