"""Run a conductor."""

from __future__ import annotations

import asyncio
import signal
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from runs.execution.conductor import Conductor


class Command(BaseCommand):
    help = (
        "Run a conductor: it claims queued runs, tells their stories and reads their logs. Start "
        "as many as you like. SIGTERM lets its runs go unharmed; another conductor goes on."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--name", help="how it signs its claims (host:pid by default)")

    def handle(self, *args: Any, name: str | None, **options: Any) -> None:
        asyncio.run(_conduct(Conductor(name)))


async def _conduct(conductor: Conductor) -> None:
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True

    for sign in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sign, stop)
    await conductor.conduct(lambda: not stopped)
