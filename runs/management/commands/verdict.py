"""A verdict on figures from anywhere: a script, a sheet, another tool."""

from __future__ import annotations

import json
import math
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from runs.metrics.catalogue import METRICS
from runs.metrics.noise import Noise
from runs.metrics.planning import MOST_LOOKS
from runs.metrics.sentence import verdict_lines
from runs.metrics.typed import BadFigures, launches_of
from runs.metrics.verdict import Case, Judgement, Verdict, verdict

BAD_INPUT = 2  # as argparse ends
JUDGED = sorted(key for key, metric in METRICS.items() if metric.better is not None)


class Command(BaseCommand):
    help = (
        "Judge a candidate against a baseline, from one figure per launch. Several levels: repeat "
        "both options, with the number of clients before a colon (--baseline 16:3742,3801,3768 "
        "--baseline 32:5010,4987,5033); the n-th figure of every level is the n-th launch, and p "
        "values are then corrected for the number of levels (Holm). With --json one object: ratio, "
        "ci_low, ci_high, p, word (of the sweep; of the level where there is one), and levels, the "
        "same for each. Without --prior-sd the noise of a launch is assumed, and words are "
        "'likely' at most. Bad figures end with status 2."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        for name, who in (("--baseline", "the baseline"), ("--candidate", "what is compared")):
            parser.add_argument(
                name, action="append", required=True, metavar="[CLIENTS:]V,V,…",
                help=f"figures of {who}, one per launch; once per level",
            )  # fmt: skip
        parser.add_argument(
            "--prior-sd", type=float, help="a launch's known noise: 0.012 is 1.2 %%"
        )
        parser.add_argument("--prior-df", type=float, help="degrees of freedom it is known with")
        parser.add_argument(
            "--delta", type=float, default=0.02, help="smallest change that matters (default 0.02)"
        )
        parser.add_argument(
            "--metric", choices=JUDGED, default="output_tps", help="tells which direction is good"
        )
        parser.add_argument(
            "--paired", action="store_true", help="the n-th launches stood in one block"
        )
        parser.add_argument(
            "--looks", type=int, default=1, choices=range(1, MOST_LOOKS + 1),
            help="how often the plan looks at the results (default once)",
        )  # fmt: skip
        parser.add_argument("--json", action="store_true", help="print JSON instead of a text")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            judged = verdict(_case(options))
        except BadFigures as error:
            raise CommandError(str(error), returncode=BAD_INPUT) from error
        if options["json"]:
            told = as_values(judged, paired=options["paired"])
            self.stdout.write(json.dumps(told, indent=2, allow_nan=False))
            return
        numbered = any(":" in text for text in options["baseline"])
        for line in verdict_lines(judged, options["metric"], numbered=numbered):
            self.stdout.write(line)


def _case(options: dict[str, Any]) -> Case:
    before = launches_of(options["baseline"], "--baseline")
    after = launches_of(options["candidate"], "--candidate")
    levels = {level for launch in before for level in launch}
    _check_levels(levels, {level for launch in after for level in launch})
    if options["paired"]:
        _check_blocks(before, after)
    if not 0 <= options["delta"] < math.inf:
        raise BadFigures("--delta must be zero or more: 0.02 is 2 %.")
    noise = _noise(options["prior_sd"], options["prior_df"], paired=options["paired"])
    return Case(
        before=before,
        after=after,
        metric=options["metric"],
        delta=options["delta"],
        noise=dict.fromkeys(levels, noise) if noise else {},
        paired=options["paired"],
        looks=options["looks"],
    )


def _check_levels(baseline: set[int], candidate: set[int]) -> None:
    if baseline != candidate:
        lone = ", ".join(map(str, sorted(baseline ^ candidate)))
        raise BadFigures(f"Level {lone} is given for one arm only; give both arms the same levels.")


def _check_blocks(before: list[dict[int, float]], after: list[dict[int, float]]) -> None:
    if [launch.keys() for launch in before] != [launch.keys() for launch in after]:
        raise BadFigures("--paired needs as many launches of the one arm as of the other.")


def _noise(sd: float | None, df: float | None, *, paired: bool) -> Noise | None:
    """Paired, what is given is the noise of a difference, as blocks show it."""
    if sd is None and df is None:
        return None
    if sd is None or df is None:
        raise BadFigures("--prior-sd and --prior-df belong together: give both or neither.")
    if not (0 < sd < math.inf and 0 < df < math.inf):
        raise BadFigures("--prior-sd and --prior-df must be above zero.")
    return Noise(sd / math.sqrt(2) if paired else sd, df)


def as_values(judged: Judgement, *, paired: bool) -> dict[str, Any]:
    return {
        **_values(judged.sweep),
        "delta": judged.delta,
        "confidence": 1 - judged.alpha,
        "paired": paired,
        "levels": [{"concurrency": level.concurrency, **_values(level)} for level in judged.levels],
    }


def _values(found: Verdict) -> dict[str, Any]:
    return {
        "ratio": found.ratio,
        "ci_low": found.low,
        "ci_high": found.high,
        "p": found.p,
        "p_adjusted": found.p_adjusted,
        "word": found.text,
        "likely": found.likely,
        "more_launches": found.more,
        "factor": found.factor,
        "noise_sd": found.noise.sd if found.noise else None,
        "noise_assumed": found.noise.assumed if found.noise else None,
        "launches_before": len(found.before),
        "launches_after": len(found.after),
        "remarks": list(found.remarks),
    }
