"""Read imports again with the readers of this version."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from runs.actions.conclude import judge_attempt
from runs.actions.launch import Refused
from runs.actions.read_again import outdated, read_again
from runs.actions.rebuild import of_older_formula, rebuild
from runs.actions.store_gpu import read_gpu_again
from runs.models import Campaign, LogStream


class Command(BaseCommand):
    help = (
        "Make samples, events, levels and caveats of imported campaigns anew from their stored "
        "texts. Notes stay. With --all every import that an older reader made. Each campaign is "
        "one transaction: if one fails, it stays as it was, and the others are read."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaigns", nargs="*", type=int, metavar="CAMPAIGN")
        parser.add_argument(
            "--gpus",
            nargs="+",
            type=int,
            metavar="RUN",
            default=[],
            help="instead: make the GPU samples of these runs anew from their stored lines",
        )
        parser.add_argument(
            "--windows",
            action="store_true",
            help="instead: find the windows of levels that an older formula found, or none",
        )
        parser.add_argument("--all", action="store_true", help="all that an older reader made")

    def handle(self, *args: Any, campaigns: list[int], **options: Any) -> None:
        if options["windows"]:
            self._find_windows()
            return
        if options["gpus"] and not campaigns and not options["all"]:
            for pk in options["gpus"]:
                self._read_gpus(pk)
            return
        if options["gpus"] or bool(campaigns) == options["all"]:
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

    def _read_gpus(self, pk: int) -> None:
        """Rows, events and the caveats that follow from them."""
        streams = LogStream.objects.filter(attempt__run=pk, role=LogStream.Role.GPU)
        if not streams:
            raise CommandError(f"Run {pk} has no GPU samples.")
        for stream in streams.select_related("attempt__run"):
            rows = read_gpu_again(stream)
            if stream.attempt.run.is_final:
                judge_attempt(attempt=stream.attempt)
            self.stdout.write(f"{stream.attempt}: {rows} GPU samples read again")

    def _find_windows(self) -> None:
        """Each attempt is a transaction; levels that tell no times stay without."""
        for attempt in list(of_older_formula()):
            rebuild(attempt=attempt)
            found = attempt.levels.exclude(window_source="").count()
            self.stdout.write(f"{attempt}: {found} of {attempt.levels.count()} levels")

    def _find(self, pk: int) -> Campaign:
        campaign = Campaign.objects.whole().filter(pk=pk).first()
        if campaign is None:
            raise CommandError(f"There is no campaign {pk}.")
        return campaign
