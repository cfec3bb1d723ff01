"""The runs of a campaign: state, reason, and what their levels measured."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.metrics.shown import number, tps
from runs.models import Campaign, Run
from runs.models.run import LOG_FOLLOWS


class Command(BaseCommand):
    help = (
        "List the runs of a campaign: state, reason, and for each level its concurrency, output "
        "tok/s (all clients together), tok/s per user and accept len. With --json, one object: "
        '{"campaign", "question", "runs": [{"run", "arm", "launch", "host", "simulated", "state", '
        '"reason", "reason_text", "levels": [{"concurrency", "state", "output_tps", "user_tps", '
        '"accept_len"}]}]}. What was not measured is null (in the table: a dot).'
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("campaign", type=int, help="the campaign's number, as in its address")
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

    def handle(self, *args: Any, **options: Any) -> None:
        campaign = Campaign.objects.filter(pk=options["campaign"]).first()
        if campaign is None:
            raise CommandError(f"There is no campaign {options['campaign']}.")
        runs = [run_status(run) for run in campaign.runs.for_lists().order_by("position", "pk")]
        if options["json"]:
            told = {"campaign": campaign.pk, "question": campaign.question, "runs": runs}
            self.stdout.write(json.dumps(told, indent=2, ensure_ascii=False))
            return
        self.stdout.write(f"Campaign {campaign.pk}: {campaign.question}")
        for line in table(runs):
            self.stdout.write(line)


def run_status(run: Run) -> dict[str, Any]:
    """One run as plain values."""
    attempt = run.attempts.order_by("-n").first()
    levels = attempt.levels.all() if attempt else []
    return {
        "run": run.pk,
        "arm": run.arm.name,
        "launch": run.launch,
        "host": run.host.name,
        "simulated": run.host.simulated,
        "state": run.state,
        "reason": run.reason,
        "reason_text": run.reason_text,
        "levels": [
            {
                "concurrency": level.concurrency,
                "state": level.state,
                "output_tps": level.output_tps,
                "user_tps": level.user_tps,
                "accept_len": level.accept_len,
            }
            for level in levels
        ],
    }


def table(runs: list[dict[str, Any]]) -> list[str]:
    """Lines for people: one per run, its levels beneath."""
    lines = []
    for run in runs:
        mark = ", simulated" if run["simulated"] else ""
        reason = f" ({run['reason']})" if run["reason"] else ""
        lines.append(
            f"run {run['run']}  {run['arm']}, launch {run['launch']} on {run['host']}{mark}: "
            f"{run['state']}{reason}"
        )
        if sentence := run["reason_text"].partition(LOG_FOLLOWS)[0].strip():
            lines.append(f"  {' '.join(sentence.split())}")
        if run["levels"]:
            lines.append(f"  {'clients':>7}  {'tok/s':>9}  {'per user':>9}  {'accept len':>10}")
        lines += [
            f"  {level['concurrency']:>7}  {tps(level['output_tps']):>9}  "
            f"{tps(level['user_tps']):>9}  {number(level['accept_len'], 2):>10}"
            for level in run["levels"]
        ]
    return lines or ["  no runs yet"]
