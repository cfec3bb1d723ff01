"""Celery: it only wakes. The database is the ledger, so no result is kept here and a message may
come twice, late or never (docs/decisions.md, "Celery rings a bell").
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

from django.conf import settings
from kombu.transport.redis import Channel

_parameters = Channel._connparams


def _of_an_open_connection(self: Channel, *args: Any, **options: Any) -> Any:
    """A worker whose Redis dies acknowledges and puts back what it held on the closed connection.

    kombu stumbles over that with an AttributeError, which ends the worker; it copes with this.
    """
    if self.connection is None or self.connection.client is None:
        raise ConnectionError("the connection to the broker is closed")
    return _parameters(self, *args, **options)


Channel._connparams = _of_an_open_connection  # type: ignore[method-assign]


def broker_url(redis_url: str) -> str:
    """kombu's form of a redis-py address: unix sockets are spelt differently there."""
    if not redis_url.startswith("unix://"):
        return redis_url
    path, _, query = redis_url.removeprefix("unix://").partition("?")
    database = dict(part.split("=", 1) for part in query.split("&") if "=" in part).get("db", "0")
    return f"redis+socket://{path}?virtual_host={database}"


app = Celery("throughline")
app.conf.update(
    broker_url=broker_url(settings.REDIS_URL),
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,  # a worker outlives any outage of Redis
    # longer than the longest operation, so that no message is delivered again while it runs
    broker_transport_options={
        "visibility_timeout": 600,
        "socket_timeout": 10,
        "socket_connect_timeout": 5,
        "health_check_interval": 25,
    },
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_soft_time_limit=settings.DURATIONS.verb,
    task_time_limit=settings.DURATIONS.verb + 30,
    task_publish_retry_policy={"max_retries": 1, "interval_start": 0.2, "interval_max": 0.2},
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    timezone="UTC",
)
app.autodiscover_tasks(["runs"])
