"""What experience says of a proposal: how long it takes, and what it would measure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from hosts.models import Host
from runs.metrics.prediction import MOST_STEPS, Prediction, StepsArm, predict
from runs.models import Arm, Level, Run, State, Workload

RECENT = 5  # launches looked back on; older ones say little about today's node
RECENT_LEVELS = 60


def run_seconds(workload: Workload, host: Host) -> float | None:
    """Mean seconds of recent successful launches of this workload's shape there, if any."""
    done = Run.objects.filter(
        state=State.SUCCEEDED,
        imported=False,
        host=host,
        started_at__isnull=False,
        arm__workload__levels=workload.levels,
        arm__workload__max_tokens=workload.max_tokens,
    ).order_by("-ended_at")[:RECENT]
    seconds = [run.duration.total_seconds() for run in done if run.duration is not None]
    return fmean(seconds) if seconds else None


def expected_seconds(workload: Workload, host: Host) -> float | None:
    """Seconds of one launch: of its like, else put together from levels measured there."""
    seen = run_seconds(workload, host)
    return _by_levels(workload, host) if seen is None else seen


def _by_levels(workload: Workload, host: Host) -> float | None:
    """Time for each request at each concurrency, and what a launch takes beside its levels.

    None where a level, or its number of requests, is not known.
    """
    asked = workload.requests_per_level
    requests = asked if isinstance(asked, list) else [asked] * len(workload.levels)
    recent = Level.objects.filter(
        state=Level.State.DONE,
        requests__gt=0,
        started__isnull=False,
        ended__isnull=False,
        attempt__run__state=State.SUCCEEDED,
        attempt__run__imported=False,
        attempt__run__host=host,
        attempt__run__arm__workload__max_tokens=workload.max_tokens,
    ).select_related("attempt__run")
    each: dict[int, list[float]] = defaultdict(list)
    rest: dict[Run, float] = {}
    for level in recent.order_by("-pk")[:RECENT_LEVELS]:
        seconds = (level.ended or 0.0) - (level.started or 0.0)
        each[level.concurrency].append(seconds / (level.requests or 1))
        run = level.attempt.run
        whole = run.duration.total_seconds() if run.duration else 0.0
        rest[run] = rest.get(run, whole) - seconds
    levels = list(zip(workload.levels, requests, strict=False))
    if not levels or any(c not in each or not isinstance(n, int) for c, n in levels):
        return None
    beside = max(0.0, fmean(rest.values()))
    return beside + sum(fmean(each[concurrency]) * count for concurrency, count in levels)


def left_of(run: Run, elapsed: float) -> float | None:
    """Seconds that an active run will probably still take; ``None`` without experience."""
    expected = run_seconds(run.arm.workload, run.host)
    return max(expected - elapsed, 0.0) if expected is not None else None


def price_minutes(arm: Arm, host: Host, known: Iterable[Run] = ()) -> int | None:
    """Minutes that one more launch like ``arm`` takes, rounded up.

    ``known`` are launches of it that somebody has at hand, in their order.
    """
    own = [run.duration for run in known if not run.imported and run.duration is not None]
    if own:
        return minutes(fmean(each.total_seconds() for each in own[-RECENT:]))
    return minutes(expected_seconds(arm.workload, host))


def minutes(seconds: float | None) -> int | None:
    """Whole minutes, rounded up; at least one."""
    return None if seconds is None else max(1, -int(-seconds // 60))


STEPS = "--speculative-num-steps"
# these follow the steps where topk is 1
_FOLLOWS = (STEPS, "--speculative-num-draft-tokens")
_TOPK = "--speculative-eagle-topk"


@dataclass(frozen=True)
class LevelExpected:
    """What another number of draft steps would measure at one level."""

    concurrency: int
    told: Prediction


def expected_of_steps(
    arm: Arm, steps: Any, known: Mapping[int, Sequence[Level]] | None = None
) -> list[LevelExpected]:
    """Predict the levels of ``arm`` with so many draft steps, from its campaign.

    Arms count that differ in nothing but their steps, on the same host with the same workload. No
    level is told where fewer than two numbers of steps were measured, nor for a tree of drafts.
    ``known`` are measured levels that somebody has at hand, by arm.
    """
    flags = arm.config.flags
    if type(steps) is not int or not 1 <= steps <= MOST_STEPS or flags.get(_TOPK, 1) != 1:
        return []
    alike = [
        other
        for other in arm.campaign.whole_arms
        if type(other.config.flags.get(STEPS)) is int
        and _without_steps(other) == _without_steps(arm)
    ]
    by_level: dict[int, list[StepsArm]] = defaultdict(list)
    known = known or {}
    levels = {**_measured([other for other in alike if other.pk not in known]), **known}
    for other in alike:
        own = other.config.flags[STEPS]
        for level in levels.get(other.pk, ()):
            if level.accept_len and level.accept_len >= 1 and level.output_tps:
                told = StepsArm(own, level.accept_len, level.output_tps)
                by_level[level.concurrency].append(told)
    found = [(concurrency, predict(told, steps)) for concurrency, told in sorted(by_level.items())]
    return [LevelExpected(concurrency, told) for concurrency, told in found if told is not None]


def _without_steps(arm: Arm) -> tuple[Any, ...]:
    config = arm.config
    rest = {flag: value for flag, value in config.flags.items() if flag not in _FOLLOWS}
    return config.engine, config.model, arm.host_id, arm.workload.settings(), rest


def _measured(arms: list[Arm]) -> dict[int, Sequence[Level]]:
    """By arm, the levels of the newest attempts of the launches that succeeded."""
    if not arms:
        return {}
    levels = Level.objects.filter(
        attempt__run__arm__in=arms, attempt__run__state=State.SUCCEEDED, state=Level.State.DONE
    ).select_related("attempt__run")
    newest: dict[tuple[int, int], Level] = {}
    for level in levels.defer("summary").order_by("attempt__n"):
        newest[level.attempt.run_id, level.concurrency] = level
    found: dict[int, list[Level]] = defaultdict(list)
    for level in newest.values():
        found[level.attempt.run.arm_id].append(level)
    return dict(found)
