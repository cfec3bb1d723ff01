"""Read imports again with the readers of this version."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from runs.actions.launch import Refused
from runs.actions.read_again import outdated, read_again
from runs.models import Campaign


class Command(BaseCommand):
    help = (
        "Make samples, events, levels and caveats of imported campaigns anew from their stored "
        "texts. Notes stay. With --all every import that an older reader made. Each campaign is "
        "one transaction: if one fails, it stays as it was, and the others are read."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaigns", nargs="*", type=int, metavar="CAMPAIGN")
        parser.add_argument("--all", action="store_true", help="all that an older reader made")

    def handle(self, *args: Any, campaigns: list[int], **options: Any) -> None:
        if bool(campaigns) == options["all"]:
            raise CommandError("Name campaigns by their numbers, or say --all.")
        chosen = outdated() if options["all"] else [self._find(pk) for pk in campaigns]
        failed = 0
        for campaign in chosen:
            try:
                count = read_again(campaign=campaign, by=None)
            except Refused as refused:
                failed += 1
                self.stderr.write(f"{campaign.pk} {campaign}: {refused}")
            else:
                runs = "run" if count == 1 else "runs"
                self.stdout.write(f"{campaign.pk} {campaign}: {count} {runs} read again")
        if failed:
            raise CommandError(f"{failed} of {len(chosen)} stay as they were.")
        if not chosen:
            self.stdout.write("Everything was read by this version.")

    def _find(self, pk: int) -> Campaign:
        campaign = Campaign.objects.whole().filter(pk=pk).first()
        if campaign is None:
            raise CommandError(f"There is no campaign {pk}.")
        return campaign
