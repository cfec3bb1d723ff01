"""One arm of a comparison: its launches, and which of them count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from django.db.models import Prefetch

from runs.metrics.compare import LevelFigures
from runs.models import Arm, Attempt, Level, Run, Sample, State
from runs.models.campaign import LETTERS
from runs.runpage import running_limit

# what a level knows, under the catalogue's names
FIGURES = {
    "output_tps": "output_tps",
    "user_tps": "user_tps",
    "ttft_p50": "ttft_s",
    "tpot_p50": "tpot_s",
    "accept_len": "accept_len",
    "running": "running_mean",
    "waiting": "waiting_mean",
}
EXCERPT = 50  # decode lines; a log with more of them is read level by level
ALGORITHM = "--speculative-algorithm"
DRAFT_TOKENS = "--speculative-num-draft-tokens"


@dataclass(frozen=True)
class Launch:
    """One run and the levels of its newest attempt."""

    run: Run
    attempt: Attempt | None
    levels: list[Level]

    @property
    def measured(self) -> list[Level]:
        return [level for level in self.levels if level.state == Level.State.DONE]

    def figures(self) -> list[LevelFigures]:
        return [
            LevelFigures(
                concurrency=level.concurrency,
                values={key: getattr(level, name) for key, name in FIGURES.items()},
            )
            for level in self.measured
        ]


@dataclass(frozen=True)
class Side:
    """One arm and what counts of it. ``provisional``: nothing has succeeded yet."""

    arm: Arm
    launches: list[Launch]
    counted: list[Launch]
    provisional: bool
    limit: int | None  # requests that the server runs at most
    shown: tuple[str, str] = ("", "")  # name and letter beside arms of other campaigns

    @property
    def name(self) -> str:
        return self.shown[0] or self.arm.name

    @property
    def letter(self) -> str:
        return self.shown[1] or self.arm.letter

    @property
    def n(self) -> int:
        return len(self.counted)

    @property
    def config_words(self) -> list[str]:
        """Qwen3.5-122B-A10B; tp 4; NEXTN; 2 draft tokens: what an arm is, in short."""
        config = self.arm.config
        flags = config.flags
        words = [PurePosixPath(config.model).name]
        words += [f"tp {flags['--tp']}"] if "--tp" in flags else []
        words += [str(flags[ALGORITHM])] if ALGORITHM in flags else []
        words += [f"{flags[DRAFT_TOKENS]} draft tokens"] if DRAFT_TOKENS in flags else []
        return words

    def words_beside(self, base: Side) -> str:
        """The same for an arm beside its baseline: "same, 3 draft tokens"."""
        own, theirs = self.config_words, base.config_words
        differing = [word for word in own if word not in theirs]
        if self is base or len(differing) == len(own):
            return ", ".join(own)
        return ", ".join(["same", *differing])

    @property
    def figures(self) -> list[LevelFigures]:
        return [figures for launch in self.counted for figures in launch.figures()]

    @property
    def concurrencies(self) -> list[int]:
        return sorted({figures.concurrency for figures in self.figures})

    def values(self, metric: str, concurrency: int) -> list[float]:
        """What each launch measured at one level."""
        found = (f.values[metric] for f in self.figures if f.concurrency == concurrency)
        return [value for value in found if value is not None]

    def mean(self, metric: str, concurrency: int) -> float | None:
        values = self.values(metric, concurrency)
        return sum(values) / len(values) if values else None


def side_of(arm: Arm) -> Side:
    """The arm's launches; those that succeeded count, else what a running one has so far."""
    runs = (
        arm.runs.order_by("launch", "pk")
        .select_related("host")
        .prefetch_related(
            Prefetch(
                "attempts", Attempt.objects.order_by("-n").prefetch_related("levels", "streams")
            ),
            "caveats",
        )
    )
    launches = [launch_of(run) for run in runs]
    good = [launch for launch in launches if launch.run.state == State.SUCCEEDED]
    sofar = [launch for launch in launches if launch.run.is_active and launch.measured]
    counted = good or sofar
    newest = (counted or launches)[-1] if launches else None
    return Side(
        arm=arm,
        launches=launches,
        counted=counted,
        provisional=not good,
        limit=running_limit(arm, newest.attempt if newest else None),
    )


def told_apart(sides: Sequence[Side]) -> list[Side]:
    """Sides of several campaigns with letters by their order, and no name twice."""
    if len({side.arm.campaign_id for side in sides}) < 2:
        return list(sides)
    names = Counter(side.name for side in sides)
    return [
        replace(side, shown=(_name_among(side, names), letter))
        for side, letter in zip(sides, LETTERS, strict=False)
    ]


def _name_among(side: Side, names: Counter[str]) -> str:
    return side.name if names[side.name] == 1 else f"{side.name} of campaign {side.arm.campaign_id}"


def side_of_run(run: Run) -> Side:
    """One launch as a side of its own, whatever became of it."""
    launch = launch_of(run)
    return Side(
        arm=run.arm,
        launches=[launch],
        counted=[launch],
        provisional=run.state != State.SUCCEEDED,
        limit=running_limit(run.arm, launch.attempt),
    )


def launch_of(run: Run) -> Launch:
    attempts = sorted(run.attempts.all(), key=lambda attempt: attempt.n)
    newest = attempts[-1] if attempts else None
    return Launch(run, newest, list(newest.levels.all()) if newest else [])


def excerpt_lines(side: Side) -> list[tuple[int, float]]:
    """(running, output tok/s) of the decode lines of imported excerpts; none of whole logs."""
    runs = [launch.run.pk for launch in side.counted if launch.run.imported]
    if not runs:
        return []
    told = Sample.objects.filter(
        stream__attempt__run__in=runs,
        phase=Sample.Phase.DECODE,
        output_tps__isnull=False,
        running__isnull=False,
    )
    rows = list(told.order_by("pk").values_list("running", "output_tps")[: EXCERPT + 1])
    lines = [(running, tps) for running, tps in rows if running is not None and tps is not None]
    return lines if len(rows) <= EXCERPT else []
