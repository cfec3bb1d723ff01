"""What Celery calls. A task takes an id, calls one function and lets it raise."""

from __future__ import annotations

import logging

from celery import shared_task
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)


@shared_task
def carry_out(operation_id: int) -> None:
    from runs.execution.verbs import perform

    perform(operation_id)


def ring(operation_id: int) -> bool:
    """Wake a worker for an operation. False if the broker cannot be reached: ring again later."""
    try:
        carry_out.apply_async((operation_id,), retry=False, ignore_result=True)
    except (OperationalError, OSError) as error:
        log.warning("operation %s not rung: %s", operation_id, error)
        return False
    return True
