"""Two runs, level by level."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.answers import answers
from runs.comparisons import Compared, Pair, pair
from runs.differences import differences
from runs.exports import FORMATS
from runs.metrics.shown import change, number, tps
from runs.models import Run
from runs.sides import side_of_run
from runs.snapshots import snapshot


class Command(BaseCommand):
    help = (
        "Compare two runs level by level; the first is the baseline. With --json, one object: "
        '{"before": run, "after": run, "simulated", "sentence", "levels": [{"concurrency", '
        '"metric", "before", "after", "ratio", "change", "launches_before", "launches_after"}], '
        '"verdict": {"metric", "word", "levels": [{"concurrency", "word", "remarks"}]}, '
        '"differences": [{"key", "before", "after", "group", "why"}]}. '
        "Metrics: output_tps and user_tps (tokens per second), ttft_p50 and tpot_p50 (seconds), "
        "accept_len, running and waiting. change is ratio - 1; what one side did not measure is "
        "null. Two single launches give a hint, no verdict. --format prints what the comparison "
        "page exports; docs/exports.md tells its fields."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("before", type=int, help="run number of the baseline")
        parser.add_argument("after", type=int, help="run number of what is compared with it")
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
        parser.add_argument("--format", choices=list(FORMATS), help="print an export of the page")

    def handle(self, *args: Any, **options: Any) -> None:
        before, after = _run(options["before"]), _run(options["after"])
        if options["format"]:
            told = snapshot(compared_runs(before, after), [])
            self.stdout.write(FORMATS[options["format"]].write(told, ""), ending="")
            return
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


def compared_runs(before: Run, after: Run) -> Compared:
    """Two launches as the two sides of a comparison; those of one arm are told apart."""
    same = before.arm.name == after.arm.name
    names = [f"{run.arm.name}, run {run.pk}" if same else run.arm.name for run in (before, after)]
    base, other = (
        replace(side_of_run(run), shown=(name, letter))
        for run, name, letter in zip((before, after), names, "AB", strict=True)
    )
    given = answers(runs=[before.pk, after.pk])
    return Compared([base, other], [pair(base, other, given)], given)


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
