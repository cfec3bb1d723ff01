"""The big numbers of a run's page, the baseline's beneath."""

from __future__ import annotations

from dataclasses import dataclass

from runs.charts import Readings, ratio, readings
from runs.models import Level
from runs.runlines import is_speculative, last_decode, level_readings, server_stream
from runs.runpage import RunPage


@dataclass(frozen=True)
class Number:
    """A big number and the baseline's beneath it. ``better`` is "", "better" or "worse"."""

    label: str
    value: float | None
    digits: int
    unit: str
    base: float | None
    change: float | None
    points: int | None  # the difference of two shares in points, where the value is a share
    better: str


@dataclass(frozen=True)
class Numbers:
    cells: list[Number]
    waiting: float | None
    base_waiting: float | None
    lines: int
    level: Level | None
    final: bool

    @property
    def has_base(self) -> bool:
        return any(cell.base is not None for cell in self.cells)


def numbers(page: RunPage, base: Readings | None) -> Numbers:
    """The big numbers: of the last decode lines while it runs, of the last level afterwards."""
    level = page.current or _last_done(page)
    own = _own_readings(page, level)
    if own is None:
        return Numbers([], None, None, 0, level, page.run.is_final)
    pairs: list[tuple[str, str, int, str, int]] = [
        ("output tok/s", "output_tps", 0, "", 1),
        ("accept len", "accept_len", 2, "", 1),
        ("step rate", "steps", 1, "per s", 0),
        ("running, waiting", "running", 0, "", 0),
        ("KV usage", "token_usage", 2, "", 0),
    ]
    cells = [_number(own, base, *pair) for pair in pairs]
    return Numbers(
        cells=cells,
        waiting=own.waiting,
        base_waiting=base.waiting if base else None,
        lines=own.lines,
        level=level,
        final=page.run.is_final,
    )


def _number(
    own: Readings, base: Readings | None, label: str, key: str, digits: int, unit: str, good: int
) -> Number:
    """One cell. Only more throughput and more accept len are good by themselves (``good``)."""
    value, before = getattr(own, key), getattr(base, key) if base else None
    change = ratio(value, before)
    better = ""
    if good and change is not None and abs(change - 1) >= 0.005:
        better = "better" if change > 1 else "worse"
    if key == "output_tps" and value is not None and value < 100:
        digits = 1
    points = None
    if key == "token_usage":  # a share: a per cent of a per cent would mislead
        change, points = None, None if None in (value, before) else round(100 * (value - before))
    return Number(label, value, digits, unit, before, change, points, better)


def _own_readings(page: RunPage, level: Level | None) -> Readings | None:
    if page.stream is None:
        return None
    if page.run.is_active or level is None or level.started is None:
        lines = last_decode(page.stream)
        return readings(lines, speculative=page.speculative) if lines else None
    return level_readings(page.stream, level, speculative=page.speculative)


def _last_done(page: RunPage) -> Level | None:
    done = [row.level for row in page.rows if row.level.state == Level.State.DONE]
    return done[-1] if done else None


def baseline_readings(page: RunPage) -> Readings | None:
    """The baseline's medians at the level that the big numbers speak of."""
    level = page.current or _last_done(page)
    if level is None or page.baseline is None:
        return None
    attempt = page.baseline.attempts.order_by("-n").first()
    stream = server_stream(attempt)
    if attempt is None or stream is None:
        return None
    same = attempt.levels.filter(concurrency=level.concurrency, state=Level.State.DONE).first()
    if same is None:
        return None
    return level_readings(stream, same, speculative=is_speculative(page.baseline.arm))
