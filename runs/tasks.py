"""What Celery calls. A task takes an id, calls one function and lets it raise."""

from __future__ import annotations

import logging
import os
import socket
import threading
from typing import Any

from celery import Task, current_app, shared_task
from celery.signals import worker_shutting_down
from django.conf import settings
from kombu.exceptions import KombuError
from kombu.pools import producers
from redis import RedisError

log = logging.getLogger(__name__)

RING_S = 1.0  # a broker that does not answer by then is away; whoever rings may be a page
AWAY = (KombuError, RedisError, OSError)  # a full Redis refuses in words of its own

# Made before a worker forks its pool, so that the whole worker has one name.
WORKER = f"{socket.gethostname()}:{os.getpid()}"


@shared_task
def carry_out(operation_id: int) -> None:
    from runs.execution.verbs import perform

    perform(operation_id, WORKER)


@shared_task(
    soft_time_limit=settings.DURATIONS.import_limit,
    time_limit=settings.DURATIONS.import_limit + 30,
)
def carry_out_import(import_id: int) -> None:
    """Longer than the visibility time-out of messages: a second delivery finds it claimed."""
    from runs.actions.import_job import perform

    perform(import_id, WORKER)
    ring_imports()


def ring(operation_id: int) -> bool:
    """Wake a worker for an operation. False if the broker cannot be reached: ring again later."""
    return _ring(carry_out, operation_id)


def ring_import(import_id: int) -> bool:
    """The same for an import."""
    return _ring(carry_out_import, import_id)


def ring_imports() -> None:
    """Wake a worker for the import that is due first; they go one after the other."""
    from runs.models import Import

    if (first := Import.objects.next_due()) is not None:
        ring_import(first.pk)


def _ring(task: Task[[int], None], pk: int) -> bool:
    return _publish(task, (pk,))


def _publish(task: Task[Any, None], arguments: tuple[int, ...], **options: Any) -> bool:
    """Send once, within a second or two. Workers wait longer for a broker, whoever sends does not.

    Without ``max_retries`` kombu tries for as long as the connection's own time-out, and again.
    """
    patience = {"socket_timeout": RING_S, "socket_connect_timeout": RING_S, "max_retries": 0}
    usual = current_app.conf.broker_transport_options
    quick = current_app.connection_for_write(
        transport_options={**usual, **patience, "connect_retries_timeout": RING_S}
    )
    try:
        with producers[quick].acquire(block=True, timeout=RING_S) as producer:
            task.apply_async(
                arguments, producer=producer, retry=False, ignore_result=True, **options
            )
    except AWAY as error:
        log.warning("%s %s not rung: %s", task.name, arguments, error)
        return False
    return True


@shared_task
def answer_canary() -> None:
    """Proves that a worker takes what is sent to it; one that is deaf is alive all the same."""
    from runs.models import Sign

    Sign.give(Sign.WORKER)


def ring_canary() -> bool:
    """Ask the workers for a sign of life; one that comes too late to be one is dropped.

    False if the broker takes no messages.
    """
    return _publish(answer_canary, (), expires=settings.DURATIONS.canary)


@worker_shutting_down.connect
def _drain(**_: Any) -> None:
    """Told to end, a worker finishes what it holds within ``drain`` s, or gives it back."""
    giving_back = threading.Timer(settings.DURATIONS.drain, give_back)
    giving_back.daemon = True
    giving_back.start()


def give_back() -> None:
    """Let other workers take what this one has not finished."""
    from django.db import connection

    from runs.models import Import, Operation

    try:
        Import.objects.give_back(WORKER)
        if held := Operation.objects.give_back(WORKER):
            log.warning("%s is ending: %s operations were given back", WORKER, held)
    finally:
        connection.close()
