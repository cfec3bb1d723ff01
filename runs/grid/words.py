"""What a grid says in one sentence. From a closed list of forms, never more than was measured."""

from __future__ import annotations

from collections.abc import Sequence

from runs.grid.cells import Cell, Grid, Row
from runs.metrics.compare import SMALL
from runs.metrics.sentence import listed
from runs.metrics.shown import change, tps
from runs.models import Arm


def leader(row: Row) -> Cell | None:
    return next((cell for cell in row.cells if cell.lead), None)


def is_even(row: Row) -> bool:
    """Arms were measured here that may be compared, and none is ahead."""
    return leader(row) is None and any(cell.ratio is not None for cell in row.cells)


def _ties(rows: Sequence[Row], base: Arm) -> str:
    """Levels without a leader: all arms alike there, or some of them alike before the rest."""
    tied: dict[tuple[Arm, ...], list[Row]] = {}
    for row in rows:
        best, rest = _front(row)
        tied.setdefault(tuple(cell.arm for cell in best) if rest else (), []).append(row)
    sentences = []
    for arms, at in sorted(tied.items(), key=lambda item: bool(item[0])):
        if not arms:
            sentences.append(f"No difference that matters at {_levels(at)}.")
            continue
        by = "" if base in arms else _by([c for row in at for c in _front(row)[0]])
        against = f"{by} against {base}" if by else ""
        sentences.append(f"{listed(arms)} are alike and ahead at {_levels(at)}{against}.")
    return " ".join(sentences)


def _front(row: Row) -> tuple[list[Cell], list[Cell]]:
    """The cells that differ from the row's best by less than what matters, and the others."""
    known = [(cell, cell.value) for cell in _rivals(row) if cell.value is not None]
    best = max(value for _, value in known)
    front = [cell for cell, value in known if best < value * (1 + SMALL)]
    return front, [cell for cell, _ in known if cell not in front]


def _rivals(row: Row) -> list[Cell]:
    """The baseline and what may be compared with it."""
    return [cell for i, cell in enumerate(row.cells) if i == 0 or cell.ratio is not None]


def crossover(before: Row | None, row: Row) -> str:
    """Words for a change of the leading arm between two neighbouring levels."""
    if before is None:
        return ""
    old, new = leader(before), leader(row)
    if old is None or new is None or old.arm == new.arm:
        return ""
    return (
        f"between {before.concurrency} and {row.concurrency}: "
        f"{old.arm} leads below, {new.arm} above."
    )


def headline(grid: Grid) -> str:
    """The answer so far: who leads where and by how much; empty while nothing is measured."""
    if not grid.has_values or grid.baseline is None:
        return ""
    base = grid.baseline.arm
    led = [(row, cell) for row in grid.rows if (cell := leader(row))]
    even = [row for row in grid.rows if is_even(row)]
    if not led:
        return _ties(even, base) if even else _range_only(grid)
    arms = list(dict.fromkeys(cell.arm for _, cell in led))
    hint = " One launch each: a hint." if _single(led) else ""
    rest = f" {_ties(even, base)}" if even else ""
    if len(arms) == 1:
        return f"{_one_leader(grid, led)}{rest}{hint}"
    parts = [_part([(row, cell) for row, cell in led if cell.arm == arm]) for arm in arms]
    against = "" if base in arms else f", against {base}"
    return f"{'; '.join(parts)}{against}.{rest}{hint}"


def _one_leader(grid: Grid, led: Sequence[tuple[Row, Cell]]) -> str:
    arm = led[0][1].arm
    where = _levels([row for row, _ in led])
    against = ""
    if grid.baseline and arm != grid.baseline.arm:
        against = f"{_by([cell for _, cell in led])} against {grid.baseline.arm}"
    return f"{arm} leads at {where}{against}."


def _part(led: Sequence[tuple[Row, Cell]]) -> str:
    """ "steps=3 leads at 1 and 4 (+42 % to +75 %)"; of the baseline: by how much the other lost."""
    rows = [row for row, _ in led]
    words = f"{led[0][1].arm} leads at {_levels(rows)}"
    if led[0][1].ratio is not None:
        return f"{words}{_by([cell for _, cell in led])}"
    others = [cell for row in rows for cell in row.cells if cell.ratio is not None]
    if len({cell.arm for cell in others}) != 1:
        return words
    return f"{words} ({others[0].arm}{_by(others).replace('(', '').replace(')', '')})"


def _by(cells: Sequence[Cell]) -> str:
    ratios = [cell.ratio for cell in cells if cell.ratio is not None]
    if not ratios:
        return ""
    low, high = change(min(ratios)), change(max(ratios))
    return f" ({low})" if low == high else f" ({low} to {high})"


def _levels(rows: Sequence[Row]) -> str:
    return listed(row.concurrency for row in rows)


def _single(led: Sequence[tuple[Row, Cell]]) -> bool:
    return all(len(cell.launches) == 1 for row, _ in led for cell in row.cells if cell.launches)


def _range_only(grid: Grid) -> str:
    """Nothing to compare yet: what the first measured arm reached."""
    cells = [cell for row in grid.rows for cell in row.cells if cell.value is not None]
    mine = [cell for cell in cells if cell.arm == cells[0].arm]
    first, last = mine[0], mine[-1]
    unit = grid.metric.label.lower()
    words = f"{first.arm}: {tps(first.value)} {unit} at {first.concurrency}"
    if last is first:
        return f"{words}."
    return f"{words}, {tps(last.value)} at {last.concurrency}."
