"""One arm of a comparison: its launches, and which of them count."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from django.db.models import (
    F,
    OuterRef,
    Prefetch,
    QuerySet,
    Subquery,
    Sum,
    prefetch_related_objects,
)

from runs.actions.levelwindow import looked
from runs.metrics.compare import LevelFigures
from runs.models import Arm, Attempt, Level, LogStream, Reason, Run, Sample, State
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
EXCERPT_SAMPLES = 500  # samples of any kind; a log with more of them is no excerpt
# what of a server's log is summed up with its attempt
COUNTED = {"lines": F("lines"), "damaged": F("damaged"), "samples": F("next_seq") - 1}
ALGORITHM = "--speculative-algorithm"
DRAFT_TOKENS = "--speculative-num-draft-tokens"


@dataclass(frozen=True)
class ServerLog:
    """How much of a server's log is stored; nothing where there is none."""

    lines: int
    damaged: int
    samples: int


@dataclass(frozen=True)
class Launch:
    """One run and the levels of its newest attempt."""

    run: Run
    attempt: Attempt | None
    levels: list[Level]

    @property
    def log(self) -> ServerLog:
        told = [getattr(self.attempt, f"log_{name}", None) or 0 for name in COUNTED]
        return ServerLog(*told)

    @cached_property
    def measured(self) -> list[Level]:
        return [level for level in self.levels if level.state == Level.State.DONE]

    @cached_property
    def looked(self) -> list[Level]:
        """The measured levels with what the server's log says in their windows."""
        return looked(self.measured, logged=self.log.samples > 0)

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
    lines: tuple[tuple[int, float], ...] = ()  # of an imported excerpt: running, output tok/s

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
    def flags(self) -> dict[str, Any]:
        return self.arm.config.flags

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

    @cached_property
    def figures(self) -> list[LevelFigures]:
        return [figures for launch in self.counted for figures in launch.figures()]

    @property
    def concurrencies(self) -> list[int]:
        return sorted({figures.concurrency for figures in self.figures})

    def is_capped(self, concurrency: int) -> bool:
        """It was offered more requests at this level than its server runs."""
        limit = self.limit
        return limit is not None and limit < concurrency and concurrency in self.concurrencies

    def values(self, metric: str, concurrency: int) -> list[float]:
        """What each launch measured at one level."""
        return self._values.get((metric, concurrency), [])

    @cached_property
    def _values(self) -> dict[tuple[str, int], list[float]]:
        found: dict[tuple[str, int], list[float]] = defaultdict(list)
        for figures in self.figures:
            for metric, value in figures.values.items():
                if value is not None:
                    found[metric, figures.concurrency].append(value)
        return found

    def edited(self, concurrency: int, *, client: bool) -> bool:
        """Whether a launch's figure is that of a window moved by hand: the log's always is, the
        client's where it counted single requests."""
        levels = (level for launch in self.counted for level in launch.measured)
        return any(
            level.edited and (level.window_tps or not client)
            for level in levels
            if level.concurrency == concurrency
        )

    def mean(self, metric: str, concurrency: int) -> float | None:
        values = self.values(metric, concurrency)
        return sum(values) / len(values) if values else None


def sides_of(arms: Sequence[Arm]) -> list[Side]:
    """The sides of some arms, in as many queries as for one."""
    runs = (
        Run.objects.filter(arm__in=[arm.pk for arm in arms])
        .exclude(reason=Reason.STOPPED_EARLY)  # settled before their turn: nothing is known of them
        .order_by("launch", "pk")
        .select_related("host")
        .prefetch_related(Prefetch("attempts", _attempts()), "caveats")
    )
    by_arm: dict[int, list[Run]] = {arm.pk: [] for arm in arms}
    for run in runs:
        by_arm[run.arm_id].append(run)
    sides = [_side(arm, by_arm[arm.pk]) for arm in arms]
    return _with_excerpts(sides)


def _attempts() -> QuerySet[Attempt]:
    """Attempts with what a side asks of them: levels, and how much the server's log holds."""
    log = LogStream.objects.filter(attempt=OuterRef("pk"), role=LogStream.Role.SERVER)
    sums = {
        f"log_{name}": Subquery(log.values("attempt").annotate(told=Sum(what)).values("told"))
        for name, what in COUNTED.items()
    }
    levels = Level.objects.defer("summary")  # single curves of every request: megabytes together
    return (
        Attempt.objects.annotate(**sums).order_by("-n").prefetch_related(Prefetch("levels", levels))
    )


def side_of(arm: Arm) -> Side:
    return sides_of([arm])[0]


def _side(arm: Arm, runs: Sequence[Run]) -> Side:
    """The arm's launches; those that succeeded count, else what a running one has so far."""
    for run in runs:
        run.arm = arm
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
    prefetch_related_objects([run], Prefetch("attempts", _attempts()), "caveats")
    launch = launch_of(run)
    side = Side(
        arm=run.arm,
        launches=[launch],
        counted=[launch],
        provisional=run.state != State.SUCCEEDED,
        limit=running_limit(run.arm, launch.attempt),
    )
    return _with_excerpts([side])[0]


def launch_of(run: Run) -> Launch:
    attempts = sorted(run.attempts.all(), key=lambda attempt: attempt.n)
    newest = attempts[-1] if attempts else None
    return Launch(run, newest, list(newest.levels.all()) if newest else [])


def _with_excerpts(sides: Sequence[Side]) -> list[Side]:
    """Add the decode lines of imported excerpts, in one query; none of an arm with a whole log."""
    short = [
        launch.run.pk
        for side in sides
        for launch in side.counted
        if launch.run.imported and 0 < sum(e.log.samples for e in side.counted) <= EXCERPT_SAMPLES
    ]
    if not short:
        return list(sides)
    told = Sample.objects.filter(
        stream__attempt__run__in=short,
        phase=Sample.Phase.DECODE,
        output_tps__isnull=False,
        running__isnull=False,
    ).order_by("pk")
    found: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for run, running, tps in told.values_list("stream__attempt__run", "running", "output_tps"):
        found[run].append((running or 0, tps or 0.0))
    lines = [[line for ln in side.counted for line in found[ln.run.pk]] for side in sides]
    return [
        replace(side, lines=tuple(own if len(own) <= EXCERPT else ()))
        for side, own in zip(sides, lines, strict=True)
    ]
