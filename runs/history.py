"""By how much a host's launches have differed so far: repeats of arms that are not compared now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import geometric_mean
from typing import Protocol, cast

from django.db.models import F

from hosts.models import HostFacts
from runs.metrics.noise import Noise, Spread, noise_of, pooled, spread_of
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

    n: int  # of the attempt
    run: int
    arm: int
    host: int
    engine: str
    model: str
    concurrency: int


# who repeated a level: an arm on a host; the engine and the model are the arm's
_Who = tuple[int, int, str, str]


class Past:
    """What was measured on the hosts of some arms, or on hosts with the same GPUs.

    Launches of one arm at one level are repeats of each other. How far those lie apart is worked
    out once, whichever arms are held against each other then.
    """

    def __init__(self, rows: Iterable[Row], alike: dict[int, set[int]]) -> None:
        newest: dict[int, dict[int, Row]] = defaultdict(dict)
        for row in rows:
            levels = newest[row.run]
            if row.concurrency not in levels or levels[row.concurrency].n < row.n:
                levels[row.concurrency] = row
        self.launches, self.alike = [(_who(found), found) for found in newest.values()], alike
        self._repeats: dict[int, dict[_Who, list[Row]]] = defaultdict(lambda: defaultdict(list))
        for who, found in self.launches:
            for concurrency, row in found.items():
                self._repeats[concurrency][who].append(row)
        self._levels: dict[str, dict[int, dict[_Who, Spread]]] = {}
        self._sweeps: dict[tuple[str, tuple[int, ...]], dict[_Who, Spread]] = {}

    def beside(self, arms: Sequence[Arm]) -> Beside:
        return Beside(self, arms)

    def by_level(self, column: str) -> dict[int, dict[_Who, Spread]]:
        """By concurrency: how far the repeats of each arm lie apart there."""
        if column not in self._levels:
            self._levels[column] = {
                concurrency: {who: spread_of(_figures(rows, column)) for who, rows in found.items()}
                for concurrency, found in self._repeats.items()
            }
        return self._levels[column]

    def by_sweep(self, column: str, levels: tuple[int, ...]) -> dict[_Who, Spread]:
        """How far the means over ``levels`` lie apart, of launches that measured them all."""
        if (column, levels) not in self._sweeps:
            means: dict[_Who, list[float]] = defaultdict(list)
            for who, told in self.launches:
                values = _figures([told[c] for c in levels if c in told], column)
                if values and len(values) == len(levels):
                    means[who].append(geometric_mean(values))
            found = {who: spread_of(each) for who, each in means.items()}
            self._sweeps[column, levels] = found
        return self._sweeps[column, levels]


def _who(levels: dict[int, Row]) -> _Who:
    row = next(iter(levels.values()))
    return row.arm, row.host, row.engine, row.model


def _figures(rows: Iterable[Row], column: str) -> list[float]:
    """What was measured, and is a speed or a time."""
    return [value for row in rows if (value := getattr(row, column)) is not None and value > 0]


class Beside:
    """The past of some arms without their own launches, with their engine and their model."""

    def __init__(self, past: Past, arms: Sequence[Arm]) -> None:
        self.past, self.own = past, {arm.pk for arm in arms}
        self.hosts = {arm.host_id for arm in arms}
        self.wide = self.hosts.union(*(past.alike.get(host, ()) for host in self.hosts))
        self.engines = {arm.config.engine for arm in arms}
        self.models = {arm.config.model for arm in arms}

    def level_noise(self, column: str, metric: str, concurrency: int) -> Noise:
        """One launch's noise at a level: from that level, its neighbours, then other hosts too."""
        found = self.past.by_level(column)
        there = found.get(concurrency, {})
        around = [told for c, told in found.items() if _neighbours(c, concurrency)]
        rungs = (([there], self.hosts), (around, self.hosts), (around, self.wide))
        return noise_of(
            ((s for told in rung for s in self._of(told, on)) for rung, on in rungs), metric
        )

    def sweep_noise(self, column: str, levels: Sequence[int]) -> Noise | None:
        """The noise of a launch's mean over ``levels``, from launches that measured them all."""
        return pooled(self._of(self.past.by_sweep(column, tuple(levels)), self.hosts))

    def _of(self, told: dict[_Who, Spread], hosts: set[int]) -> Iterator[Spread]:
        for (arm, host, engine, model), spread in told.items():
            if (
                arm not in self.own
                and host in hosts
                and engine in self.engines
                and model in self.models
            ):
                yield spread


def past_of(arms: Sequence[Arm], own: int = 0) -> Past:
    """Two queries. ``own`` is how many levels the arms may have among the latest themselves."""
    hosts = {arm.host_id for arm in arms}
    alike = _alike(hosts)
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
        .values_list("concurrency", *COLUMNS, *_NAMED, named=True)
    )
    return Past(cast("Iterable[Row]", rows[: MOST_LEVELS + own]), alike)


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


def _neighbours(one: int, other: int) -> bool:
    return max(one, other) <= NEAR * min(one, other)
