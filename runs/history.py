"""By how much a host's launches have differed so far: repeats of arms that are not compared now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, fsum, log
from typing import Protocol, cast

from django.db.models import F

from hosts.models import HostFacts
from runs.metrics.noise import Noise, noise_from, noise_of
from runs.models import Arm, Level, State

# Levels looked back on, the latest first: what is older says little about today's host.
MOST_LEVELS = 4000
# Concurrencies within this factor are neighbours.
NEAR = 2


_NAMED = {
    "n": F("attempt__n"),
    "run": F("attempt__run"),
    "arm": F("attempt__run__arm"),
    "host": F("attempt__run__host"),
    "engine": F("attempt__run__arm__config__engine"),
    "model": F("attempt__run__arm__config__model"),
}
COLUMNS = ("output_tps", "user_tps", "ttft_s", "tpot_s")


class Row(Protocol):
    """A level of an earlier launch, as the database tells it."""

    run: int
    arm: int
    host: int
    engine: str
    model: str
    n: int  # of the attempt
    concurrency: int


@dataclass(frozen=True)
class Past:
    """What was measured on the hosts of some arms, or on hosts with the same GPUs.

    ``rows`` are the latest first, ``alike`` the hosts with the same GPUs as each host.
    """

    rows: list[Row]
    alike: dict[int, set[int]]

    def beside(self, arms: Sequence[Arm]) -> Repeats:
        """Levels of launches with the engine and the model of ``arms``, without their own."""
        own, hosts = {arm.pk for arm in arms}, {arm.host_id for arm in arms}
        engines, models = {a.config.engine for a in arms}, {a.config.model for a in arms}
        wide = hosts.union(*(self.alike.get(host, ()) for host in hosts))
        found = [
            row
            for row in self.rows
            if row.host in wide
            and row.arm not in own
            and row.engine in engines
            and row.model in models
        ]
        newest: dict[tuple[int, int], Row] = {}
        for row in found[:MOST_LEVELS]:
            key = row.run, row.concurrency
            if key not in newest or newest[key].n < row.n:
                newest[key] = row
        return Repeats(list(newest.values()), hosts)


def past_of(arms: Sequence[Arm], own: int = 0) -> Past:
    """Two queries. ``own`` is how many levels the arms may have among the latest themselves."""
    hosts = {arm.host_id for arm in arms}
    alike = _alike(hosts)
    places = {(arm.host_id, arm.config.engine, arm.config.model) for arm in arms}
    rows = (
        Level.objects.filter(
            state=Level.State.DONE,
            attempt__run__state=State.SUCCEEDED,
            attempt__run__host__in=hosts.union(*alike.values()),
            attempt__run__arm__config__engine__in={arm.config.engine for arm in arms},
            attempt__run__arm__config__model__in={arm.config.model for arm in arms},
        )
        .order_by("-pk")
        .annotate(**_NAMED)
        .values_list("concurrency", *COLUMNS, *_NAMED, named=True)[
            : (MOST_LEVELS + own) * len(places)
        ]
    )
    return Past(cast("list[Row]", list(rows)), alike)


def _alike(hosts: set[int]) -> dict[int, set[int]]:
    """Of each host the others whose GPUs have the same names, and as many of them."""
    told = {facts.host_id: _gpus(facts) for facts in HostFacts.objects.all()}
    return {
        host: {other for other, gpus in told.items() if gpus == told[host]}
        for host in hosts
        if told.get(host)
    }


def _gpus(facts: HostFacts) -> tuple[str, ...]:
    return tuple(sorted(str(gpu.get("name")) for gpu in facts.data.get("gpus") or []))


class Repeats:
    """Levels of earlier launches that tell how far launches differ by chance."""

    def __init__(self, rows: Sequence[Row], hosts: set[int]) -> None:
        self.rows = rows
        self.near = [row for row in rows if row.host in hosts]  # not merely with the same GPUs
        self._grouped: dict[tuple[str, bool], dict[int, list[list[float]]]] = {}

    def level_noise(self, column: str, metric: str, concurrency: int) -> Noise:
        """One launch's noise at a level: from that level, its neighbours, then other hosts too."""

        def rungs() -> Iterator[list[list[float]]]:
            near = self._groups(column, near=True)
            yield near.get(concurrency, [])
            for there in (near, self._groups(column, near=False)):
                around = [c for c in there if _neighbours(c, concurrency)]
                yield [group for c in around for group in there[c]]

        return noise_of(rungs(), metric)

    def _groups(self, column: str, *, near: bool) -> dict[int, list[list[float]]]:
        """By concurrency; launches of one arm at one level are repeats of each other."""
        if (column, near) not in self._grouped:
            self._grouped[column, near] = self._group(column, self.near if near else self.rows)
        return self._grouped[column, near]

    @staticmethod
    def _group(column: str, rows: Sequence[Row]) -> dict[int, list[list[float]]]:
        groups: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in rows:
            value = getattr(row, column)
            if value is not None and value > 0:
                groups[row.concurrency][row.arm].append(value)
        return {concurrency: list(arms.values()) for concurrency, arms in groups.items()}

    def sweep_noise(self, column: str, levels: Sequence[int]) -> Noise | None:
        """The noise of a launch's mean over ``levels``, from launches that measured them all."""
        launches: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
        for row in self.near:
            value = getattr(row, column)
            if row.concurrency in levels and value is not None and value > 0:
                launches[row.arm, row.run][row.concurrency] = value
        groups: dict[int, list[float]] = defaultdict(list)
        for (arm, _), values in launches.items():
            if len(values) == len(levels):
                groups[arm].append(exp(fsum(map(log, values.values())) / len(levels)))
        return noise_from(groups.values())


def _neighbours(one: int, other: int) -> bool:
    return max(one, other) <= NEAR * min(one, other)
