"""Run the whole product on this machine; `make demo` calls it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from webapp.embedded.demo import Demo, DemoFailed, Options, call_django
from webapp.embedded.redis import RedisDidNotStart


class Command(BaseCommand):
    help = (
        "Run web, worker, conductor, an embedded Redis and a demo node with a simulated engine, "
        "and print a one-time sign-in link. Stops everything on Ctrl-C. State is kept in var/."
    )
    requires_system_checks: list[str] = []  # `migrate`, its first step, makes them

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="web port (default 8000)")
        parser.add_argument("--ssh-port", type=int, default=2222, help="demo node (default 2222)")

    def handle(self, *args: Any, port: int, ssh_port: int, **options: Any) -> None:
        where = Options(
            root=settings.BASE_DIR,
            var=settings.VAR_DIR,
            web_port=port,
            ssh_port=ssh_port,
            embed_redis="REDIS_URL" not in os.environ,
        )
        try:
            asyncio.run(Demo(where, manage=call_django, say=self._say).run())
        except (DemoFailed, RedisDidNotStart) as error:
            raise CommandError(str(error)) from None

    def _say(self, text: str) -> None:
        with contextlib.suppress(OSError):  # whoever read along is gone; the work goes on
            self.stdout.write(f"demo: {text}")
            self.stdout.flush()
