"""Run a conductor."""

from __future__ import annotations

import asyncio
import signal
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from runs.execution.conductor import Conductor
from webapp import database


class Command(BaseCommand):
    help = (
        "Run a conductor: it claims queued runs, tells their stories and reads their logs. Start "
        "as many as you like. SIGTERM lets its runs go unharmed; another conductor goes on."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--name", help="how it signs its claims (host:pid by default)")

    def handle(self, *args: Any, name: str | None, **options: Any) -> None:
        _refuse_an_older_database()
        asyncio.run(_conduct(Conductor(name)))


def unapplied() -> int:
    """How many migrations of this version the database lacks; one of TROUBLE if it is away."""
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def _refuse_an_older_database() -> None:
    """With tables that are not there, each run would be claimed and let go again without end."""
    try:
        lacking = unapplied()
    except database.TROUBLE:
        return  # it is away for now; a conductor waits for it
    if lacking:
        raise CommandError(
            f"The database lacks {lacking} migrations of this version. Run manage.py migrate, "
            "then start the conductor again."
        )


async def _conduct(conductor: Conductor) -> None:
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True

    for sign in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sign, stop)
    await conductor.conduct(lambda: not stopped)
