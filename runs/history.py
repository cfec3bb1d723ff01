"""By how much a host's launches have differed so far: repeats of arms that are not compared now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, fsum, log

from hosts.models import HostFacts
from runs.metrics.noise import Noise, noise_from, noise_of
from runs.models import Arm, Level, State

# Levels looked back on, the latest first: what is older says little about today's host.
MOST_LEVELS = 4000
# Concurrencies within this factor are neighbours.
NEAR = 2


@dataclass(frozen=True)
class Repeat:
    """What one level of one earlier launch measured; ``values`` by the columns asked for."""

    arm: int
    run: int
    concurrency: int
    near: bool  # on a host of the comparison, not merely on one with the same GPUs
    values: dict[str, float | None]


def repeats(arms: Sequence[Arm], columns: Iterable[str]) -> list[Repeat]:
    """Levels of earlier launches with the engine and the model of ``arms``, without their own.

    On their hosts, or on hosts with the same GPUs.
    """
    columns = list(columns)
    hosts = {arm.host_id for arm in arms}
    rows = (
        Level.objects.filter(
            state=Level.State.DONE,
            attempt__run__state=State.SUCCEEDED,
            attempt__run__host__in=hosts | _alike(hosts),
            attempt__run__arm__config__engine__in={arm.config.engine for arm in arms},
            attempt__run__arm__config__model__in={arm.config.model for arm in arms},
        )
        .exclude(attempt__run__arm__in=[arm.pk for arm in arms])
        .order_by("-pk")
        .values(
            "attempt__run", "attempt__run__arm", "attempt__run__host", "attempt__n", "concurrency",
            *columns,
        )[:MOST_LEVELS]
    )  # fmt: skip
    newest: dict[tuple[int, int], tuple[int, Repeat]] = {}
    for row in rows:
        key, n = (row["attempt__run"], row["concurrency"]), row["attempt__n"]
        if key in newest and newest[key][0] >= n:
            continue
        newest[key] = (
            n,
            Repeat(
                arm=row["attempt__run__arm"],
                run=row["attempt__run"],
                concurrency=row["concurrency"],
                near=row["attempt__run__host"] in hosts,
                values={name: row[name] for name in columns},
            ),
        )
    return [repeat for _, repeat in newest.values()]


def _alike(hosts: set[int]) -> set[int]:
    """Other hosts whose GPUs have the same names, and as many of them."""
    told = {facts.host_id: _gpus(facts) for facts in HostFacts.objects.all()}
    ours = {told[host] for host in hosts if told.get(host)}
    return {host for host, gpus in told.items() if gpus in ours}


def _gpus(facts: HostFacts) -> tuple[str, ...]:
    return tuple(sorted(str(gpu.get("name")) for gpu in facts.data.get("gpus") or []))


def level_noise(past: Sequence[Repeat], column: str, metric: str, concurrency: int) -> Noise:
    """One launch's noise at a level: from that level, else its neighbours, else other hosts too."""
    there = [repeat for repeat in past if repeat.near]
    rungs = [
        [repeat for repeat in there if repeat.concurrency == concurrency],
        [repeat for repeat in there if _neighbours(repeat.concurrency, concurrency)],
        [repeat for repeat in past if _neighbours(repeat.concurrency, concurrency)],
    ]
    return noise_of((_groups(rung, column) for rung in rungs), metric)


def _neighbours(one: int, other: int) -> bool:
    return max(one, other) <= NEAR * min(one, other)


def _groups(past: Iterable[Repeat], column: str) -> list[list[float]]:
    """Launches of one arm at one level are repeats of each other."""
    groups: dict[tuple[int, int], list[float]] = defaultdict(list)
    for repeat in past:
        value = repeat.values[column]
        if value is not None and value > 0:
            groups[repeat.arm, repeat.concurrency].append(value)
    return list(groups.values())


def sweep_noise(past: Sequence[Repeat], column: str, levels: Sequence[int]) -> Noise | None:
    """The noise of a launch's mean over ``levels``, from launches that measured them all."""
    launches: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
    for repeat in past:
        value = repeat.values[column]
        if repeat.near and repeat.concurrency in levels and value is not None and value > 0:
            launches[repeat.arm, repeat.run][repeat.concurrency] = value
    groups: dict[int, list[float]] = defaultdict(list)
    for (arm, _), values in launches.items():
        if len(values) == len(levels):
            groups[arm].append(exp(fsum(map(log, values.values())) / len(levels)))
    return noise_from(groups.values())
