"""What one GPU did while one level was measured. Samples in which it was idle do not count."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from runs.drivers.gpu_records import IDLE, POWER_CAP, THERMAL

# Below this share of its time at work a GPU's clock tells nothing of heat.
AT_WORK = 0.5
SLOW = 0.95  # of the highest clock that the arm has reached


class Row(Protocol):
    """The part of a sample that is judged."""

    @property
    def time(self) -> float: ...
    @property
    def gpu(self) -> int: ...
    @property
    def sm_mhz(self) -> int | None: ...
    @property
    def power_w(self) -> float | None: ...
    @property
    def power_limit_w(self) -> float | None: ...
    @property
    def temperature_c(self) -> int | None: ...
    @property
    def utilization(self) -> float | None: ...
    @property
    def slowed(self) -> int | None: ...
    @property
    def strangers(self) -> int | None: ...
    @property
    def strangers_bytes(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class GpuWindow:
    """One GPU inside one level's window; None is unknown, counts are of samples at work.

    `fastest_mhz` is the highest clock at work in any launch of the arm. `strangers` counts the
    samples, at work or not, in which others were on the GPU.
    """

    gpu: int
    samples: int
    fastest_mhz: int | None
    clock_mhz: float | None  # median
    slowest_mhz: int | None
    slow: int
    thermal: int
    power_cap: int
    hottest_c: int | None
    power_limit_w: float | None
    all_samples: int
    strangers: int
    strangers_most: int
    strangers_bytes: int | None

    @property
    def slowest_share(self) -> float | None:
        """The lowest clock in terms of the arm's highest."""
        if self.slowest_mhz is None or not self.fastest_mhz:
            return None
        return self.slowest_mhz / self.fastest_mhz


def at_work(row: Row) -> bool:
    if row.slowed is not None and row.slowed & IDLE:
        return False
    return row.utilization is None or row.utilization >= AT_WORK


def gpu_windows(
    rows: Iterable[Row], start: float, end: float, fastest_mhz: int | None
) -> tuple[GpuWindow, ...]:
    """One entry for each GPU that was sampled in [start, end], epoch seconds."""
    inside: dict[int, list[Row]] = {}
    for row in rows:
        if start <= row.time <= end:
            inside.setdefault(row.gpu, []).append(row)
    return tuple(_window(gpu, inside[gpu], fastest_mhz) for gpu in sorted(inside))


def _window(gpu: int, rows: list[Row], fastest_mhz: int | None) -> GpuWindow:
    working = [row for row in rows if at_work(row)]
    clocks = [row.sm_mhz for row in working if row.sm_mhz is not None]
    flags = [row.slowed for row in working if row.slowed is not None]
    least = None if fastest_mhz is None else SLOW * fastest_mhz
    others = [row for row in rows if row.strangers]
    return GpuWindow(
        gpu=gpu,
        samples=len(working),
        fastest_mhz=fastest_mhz,
        clock_mhz=median(clocks) if clocks else None,
        slowest_mhz=min(clocks, default=None),
        slow=sum(1 for clock in clocks if least is not None and clock < least),
        thermal=sum(1 for bits in flags if bits & THERMAL),
        power_cap=sum(1 for bits in flags if bits & POWER_CAP),
        hottest_c=max((r.temperature_c for r in rows if r.temperature_c is not None), default=None),
        power_limit_w=max(
            (r.power_limit_w for r in rows if r.power_limit_w is not None), default=None
        ),
        all_samples=len(rows),
        strangers=len(others),
        strangers_most=max((row.strangers or 0 for row in others), default=0),
        strangers_bytes=max(
            (r.strangers_bytes for r in others if r.strangers_bytes is not None), default=None
        ),
    )
