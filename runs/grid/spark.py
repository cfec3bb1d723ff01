"""A campaign's curves in the size of a word."""

from __future__ import annotations

from dataclasses import dataclass

from runs.grid.cells import Grid
from runs.templatetags.marks import DASHES

WIDTH, HEIGHT, EDGE = 120, 34, 4


@dataclass(frozen=True)
class Line:
    """One arm's curve: levels at equal distances, height from zero; ``points`` for a polyline."""

    letter: str
    dash: str
    points: str
    ends: tuple[tuple[float, float], ...]


def spark(grid: Grid) -> list[Line]:
    """Empty until an arm has two levels to join."""
    values = [cell.value for row in grid.rows for cell in row.cells if cell.value is not None]
    if not values or len(grid.rows) < 2:
        return []
    step = (WIDTH - 2 * EDGE) / (len(grid.rows) - 1)
    scale = (HEIGHT - 2 * EDGE) / (max(values) or 1.0)
    lines = []
    for i, column in enumerate(grid.columns):
        points = [
            (round(EDGE + step * n, 1), round(HEIGHT - EDGE - scale * cell, 1))
            for n, row in enumerate(grid.rows)
            if (cell := row.cells[i].value) is not None
        ]
        text = " ".join(f"{x},{y}" for x, y in points)
        letter = column.arm.letter
        lines.append(Line(letter, DASHES[letter], text, tuple(points[-1:])))
    return lines if any(" " in line.points for line in lines) else []
