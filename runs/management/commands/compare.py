"""Two runs, level by level."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.comparisons import Pair, pair
from runs.differences import differences
from runs.models import Run
from runs.sides import side_of_run
from runs.templatetags.measures import change, number, tps


class Command(BaseCommand):
    help = (
        "Compare two runs level by level; the first is the baseline. With --json, one object: "
        '{"before": run, "after": run, "simulated", "sentence", "levels": [{"concurrency", '
        '"metric", "before", "after", "ratio", "change", "launches_before", "launches_after"}], '
        '"verdict": {"metric", "word", "levels": [{"concurrency", "word", "remarks"}]}, '
        '"differences": [{"key", "before", "after", "group", "why"}]}. '
        "Metrics: output_tps and user_tps (tokens per second), ttft_p50 and tpot_p50 (seconds), "
        "accept_len, running and waiting. change is ratio - 1; what one side did not measure is "
        "null. Two single launches give a hint, no verdict."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("before", type=int, help="run number of the baseline")
        parser.add_argument("after", type=int, help="run number of what is compared with it")
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

    def handle(self, *args: Any, **options: Any) -> None:
        before, after = _run(options["before"]), _run(options["after"])
        found = pair(side_of_run(before), side_of_run(after))
        if options["json"]:
            told = as_values(before, after, found)
            self.stdout.write(json.dumps(told, indent=2, ensure_ascii=False))
            return
        for line in table(before, after, found):
            self.stdout.write(line)


def _run(pk: int) -> Run:
    run = Run.objects.for_lists().filter(pk=pk).first()
    if run is None:
        raise CommandError(f"There is no run {pk}.")
    return run


def as_values(before: Run, after: Run, found: Pair) -> dict[str, Any]:
    rows, _ = differences(found)
    return {
        "before": before.pk,
        "after": after.pk,
        "simulated": before.host.simulated or after.host.simulated,
        "sentence": found.sentence,
        "levels": [
            {
                "concurrency": each.concurrency,
                "metric": each.metric,
                "before": each.before,
                "after": each.after,
                "ratio": each.ratio,
                "change": each.change,
                "launches_before": each.launches_before,
                "launches_after": each.launches_after,
            }
            for each in found.changes
        ],
        "verdict": {
            "metric": found.judged.metric,
            "word": found.judged.judgement.sweep.text,
            "levels": [
                {
                    "concurrency": level.concurrency,
                    "word": level.text,
                    "remarks": list(level.remarks),
                }
                for level in found.judged.judgement.levels
            ],
        },
        "differences": [
            {
                "key": row.key,
                "before": row.before,
                "after": row.after,
                "group": row.group,
                "why": row.why,
            }
            for row in rows
        ],
    }


def _who(run: Run) -> str:
    mark = ", simulated" if run.host.simulated else ""
    return f"run {run.pk}, {run.arm.name} on {run.host}{mark}"


def table(before: Run, after: Run, found: Pair) -> list[str]:
    """Lines for people."""
    lines = [
        f"A: {_who(before)}",
        f"B: {_who(after)}",
        found.sentence,
        "",
        f"{'clients':>7} {'A tok/s':>9} {'B tok/s':>9} {'change':>8}"
        f" {'A user':>8} {'B user':>8} {'change':>8} {'accept len':>14}",
    ]
    for row in found.rows:
        accept = f"{number(row.accept.before, 2)} → {number(row.accept.after, 2)}"
        lines.append(
            f"{row.concurrency:>7} {tps(row.output.before):>9} {tps(row.output.after):>9}"
            f" {change(row.output.ratio):>8} {tps(row.user.before):>8} {tps(row.user.after):>8}"
            f" {change(row.user.ratio):>8} {accept:>14}"
        )
    rows, _ = differences(found)
    lines += ["", *(f"{row.group}: {row.key} {row.before} → {row.after}" for row in rows)]
    return lines
