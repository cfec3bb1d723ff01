"""Windows, factors and caveats of launches, made anew from what is stored."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from runs.actions.rebuild import ended, outdated, rebuild


class Command(BaseCommand):
    help = (
        "Judge launches again from their stored logs: windows, gain ledgers, caveats. Of those "
        "that an older version of the formulas measured; for use after an update. A comparison "
        "that is opened before finds windows and ledgers of its own launches by itself."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="every launch that has ended")

    def handle(self, *args: Any, **options: Any) -> None:
        attempts = ended() if options["all"] else outdated()
        count = 0
        for attempt in list(attempts):
            rebuild(attempt=attempt)
            count += 1
        self.stdout.write(f"{count} launch{'' if count == 1 else 'es'} judged again.")
