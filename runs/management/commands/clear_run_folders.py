"""Take away what ended runs have left on a node."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from hosts.models import Host
from runs.execution.clearing import NotCleared, clear, clearable
from runs.templatetags.measures import gib


class Command(BaseCommand):
    help = (
        "List the run folders on a host that nothing is lost with: of ended runs whose logs were "
        "proven equal to the node's. With --remove they are taken away; each run's events say so."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("host", help="the host's name")
        parser.add_argument("--days", type=float, default=7.0, help="ended longer ago than that")
        parser.add_argument("--remove", action="store_true", help="take them away")

    def handle(self, *args: Any, host: str, days: float, remove: bool, **options: Any) -> None:
        known = Host.objects.filter(name=host).first()
        if known is None:
            raise CommandError(f"There is no host {host}.")
        runs = list(clearable(known, days=days).select_related("host"))
        if not runs:
            self.stdout.write(f"Nothing on {host} is to be removed.")
            return
        if not remove:
            for run in runs:
                self.stdout.write(f"{run.uid}  {run}, {run.state}, {run.ended_at:%Y-%m-%d}")
            self.stdout.write(f"{len(runs)} folders; --remove takes them away.")
            return
        try:
            done = clear(known, runs, actor="clear_run_folders")
        except NotCleared as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{len(done.removed)} folders removed, {gib(done.freed)} of disk freed.")
        if done.absent:
            self.stdout.write(f"{len(done.absent)} were gone already.")
        for run in done.alive:
            self.stdout.write(f"{run} was left: something of it still runs on the node.")
