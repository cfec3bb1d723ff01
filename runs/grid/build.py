"""From rows to the grid. No query is made here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from runs.grid.cells import Cell, Column, Grid, Launch, Metric, Row
from runs.grid.load import CampaignData
from runs.grid.words import crossover
from runs.metrics.compare import SMALL
from runs.models import Arm, Level, Run, State

ABSENT_WORDS = "not measured"
WORDS = {
    "measured": "complete",
    "provisional": "provisional",
    "running": "running",
    "waiting": "next",
    "queued": "queued",
    "failed": "failed",
    "cancelled": "cancelled",
    "absent": "not measured",
}
SETTING_WORDS = {
    "prompt_set": "prompts",
    "input_tokens": "input length",
    "max_tokens": "output length",
    "requests_per_level": "requests",
    "warmup_requests": "warm-up",
}


def build(data: CampaignData, metric: Metric) -> Grid:
    """The grid of one campaign; the first arm is the baseline."""
    columns = [_column(data, arm) for arm in data.arms]
    rows: list[Row] = []
    for concurrency in _concurrencies(data):
        cells = _with_changes([_cell(data, arm, concurrency, metric) for arm in data.arms], columns)
        rows.append(Row(concurrency, cells, _capped(columns, cells, concurrency), ""))
    rows = _without_repeated_reasons(rows)
    marked = [
        replace(row, crossover=crossover(before, row))
        for before, row in zip([None, *rows], rows, strict=False)
    ]
    return Grid(metric, tuple(columns), tuple(marked), _counts(rows))


def _concurrencies(data: CampaignData) -> list[int]:
    planned = {level for arm in data.arms for level in arm.workload.levels}
    ran = {concurrency for run in data.runs for concurrency in data.levels.get(run.pk, {})}
    return sorted(planned | ran)


def _column(data: CampaignData, arm: Arm) -> Column:
    base = data.arms[0]
    runs = [run for run in data.runs if run.arm_id == arm.pk]
    told = [data.limits[run.pk] for run in runs if run.pk in data.limits]
    limit = told[-1] if told else arm.config.effective.get("max_running_requests")
    return Column(
        arm=arm,
        limit=limit,
        launches=_launch_words(runs),
        other_host=arm.host_id != base.host_id,
        differs=_differing(base, arm),
    )


def _launch_words(runs: Sequence[Run]) -> str:
    done = sum(run.state == State.SUCCEEDED for run in runs)
    active = next((run for run in runs if run.is_active), None)
    if active:
        return f"launch {active.launch} of {len(runs)} running"
    if done == len(runs):
        return f"{done} launch{'es' * (done != 1)}"
    return f"{done} of {len(runs)} launches"


def _differing(base: Arm, arm: Arm) -> str:
    """What of the workload differs from the baseline's, in words; then no change is stated."""
    if base.workload_id == arm.workload_id:
        return ""
    ours, theirs = arm.workload.settings(), base.workload.settings()
    names = [name for name, value in ours.items() if theirs[name] != value]
    return ", ".join(SETTING_WORDS.get(name, name.replace("_", " ")) for name in names)


def _capped(columns: Sequence[Column], cells: Sequence[Cell], concurrency: int) -> bool:
    """An arm that has nothing at this level held nobody back there."""
    return any(
        column.limit is not None and column.limit < concurrency and cell.kind != "absent"
        for column, cell in zip(columns, cells, strict=True)
    )


def _cell(data: CampaignData, arm: Arm, concurrency: int, metric: Metric) -> Cell:
    runs = [run for run in data.runs if run.arm_id == arm.pk]
    levels = {run.pk: data.levels.get(run.pk, {}).get(concurrency) for run in runs}
    launches = _launches(runs, levels, metric)
    open_runs = [run for run in runs if not run.is_final and not _is_done(levels[run.pk])]
    kind, text, run, progress = _state(runs, open_runs, levels)
    if launches:
        kind = "measured"
        text = _still_to_come(open_runs, text)
    return Cell(
        arm=arm,
        concurrency=concurrency,
        kind=kind,
        value=fmean(launch.value for launch in launches) if launches else None,
        ratio=None,
        launches=launches,
        provisional=bool(launches and open_runs),
        progress=progress,
        text=text,
        run=run if kind != "measured" or progress is not None else None,
        lead="",
        edited=metric.field == "output_tps"
        and any(level and level.edited and level.window_tps for level in levels.values()),
    )


def _still_to_come(open_runs: Sequence[Run], text: str) -> str:
    """Beside a value: which launch it still waits for."""
    if not open_runs:
        return ""
    return (
        text if any(run.is_active for run in open_runs) else f"launch {open_runs[0].launch} queued"
    )


def _is_done(level: Level | None) -> bool:
    return level is not None and level.state == Level.State.DONE


def _launches(
    runs: Sequence[Run], levels: dict[int, Level | None], metric: Metric
) -> tuple[Launch, ...]:
    """Values of closed levels. A level that was closed before its run failed was measured."""
    values = [
        (run, value)
        for run in runs
        if (level := levels[run.pk]) is not None and _is_done(level)
        if (value := getattr(level, metric.field)) is not None
    ]
    if not values:
        return ()
    low, high = min(v for _, v in values), max(v for _, v in values)
    span = (high - low) or 1.0
    middle = 32.0 if high == low else 10.0
    return tuple(Launch(run, value, middle + 44 * (value - low) / span) for run, value in values)


def _state(
    runs: Sequence[Run], open_runs: Sequence[Run], levels: dict[int, Level | None]
) -> tuple[str, str, Run | None, float | None]:
    """Kind, words, run and progress of what is going on in a cell, or why nothing is."""
    for run in open_runs:
        if run.is_active:
            return _active(run, levels[run.pk])
    if open_runs:
        return "queued", open_runs[0].waiting_for or "waits for its turn", open_runs[0], None
    bad = [run for run in runs if run.is_final and run.state != State.SUCCEEDED]
    if bad:
        kind = "cancelled" if bad[-1].state == State.CANCELLED else "failed"
        return kind, bad[-1].told or bad[-1].get_reason_display(), bad[-1], None
    return "absent", ABSENT_WORDS, None, None


def _active(run: Run, level: Level | None) -> tuple[str, str, Run, float | None]:
    if level is None or level.state == Level.State.PENDING:
        words = "next" if run.state == State.MEASURING else State(run.state).label
        return "waiting", f"launch {run.launch}: {words}", run, None
    of = f" of {level.requests:,}" if level.requests else ""
    share = min(level.done / level.requests, 1.0) if level.requests else 0.0
    return "running", f"launch {run.launch}: {level.done:,}{of} requests", run, share


def _with_changes(cells: Sequence[Cell], columns: Sequence[Column]) -> tuple[Cell, ...]:
    """Add the change against the baseline where it may be stated, and who is ahead."""
    base = cells[0].value
    changed = [
        replace(cell, ratio=cell.value / base)
        if i and base and cell.value is not None and column.comparable
        else cell
        for i, (cell, column) in enumerate(zip(cells, columns, strict=True))
    ]
    rivals = [
        cell
        for cell, column in zip(changed, columns, strict=True)
        if column.comparable and cell.value is not None
    ]
    rivals.sort(key=lambda cell: cell.value or 0, reverse=True)
    if len(rivals) < 2:
        return tuple(changed)
    lead = _how_sure(rivals[0], rivals[1])
    return tuple(replace(c, lead=lead) if c is rivals[0] else c for c in changed)


def _how_sure(best: Cell, next_best: Cell) -> str:
    """By the launches alone: apart, if the worst of the best beats the best of the next.

    Nobody is ahead by a hint of less than what matters: one more launch may turn it round.
    """
    fewest = min(len(best.launches), len(next_best.launches))
    worst = min(launch.value for launch in best.launches)
    apart = worst > max(launch.value for launch in next_best.launches)
    if apart and fewest >= 2 and not best.provisional:
        return "apart"
    return "" if (best.value or 0) < (next_best.value or 0) * (1 + SMALL) else "hint"


def _without_repeated_reasons(rows: Sequence[Row]) -> list[Row]:
    """A reason is told at the first of an arm's levels that it holds for."""
    told: set[tuple[int, str]] = set()
    shortened = []
    for row in rows:
        cells = []
        for cell in row.cells:
            if cell.kind not in {"failed", "cancelled", "queued", "absent"}:
                cells.append(cell)
                continue
            again = (cell.arm.pk, cell.text) in told
            told.add((cell.arm.pk, cell.text))
            cells.append(replace(cell, text="") if again else cell)
        shortened.append(replace(row, cells=tuple(cells)))
    return shortened


def _counts(rows: Sequence[Row]) -> str:
    """ "14 of 20 cells complete, 2 running, 1 failed"."""
    kinds = Counter(
        "provisional" if cell.provisional else cell.kind for row in rows for cell in row.cells
    )
    total = sum(kinds.values())
    if kinds["measured"] == total:
        every = f"all {total} cells" if total > 1 else "its cell"
        return f"{every} complete" if total else "no level measured"
    rest = [f"{n} {WORDS[kind]}" for kind, n in kinds.items() if kind != "measured"]
    return ", ".join([f"{kinds['measured']} of {total} cells complete", *rest])
