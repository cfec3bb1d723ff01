"""A table to rows: a row a point, a column an arm, or a column a point."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from runs.engines.base import JSON
from runs.readers.results import vllm_bench
from runs.readers.results.base import ResultRow
from runs.readers.results.columns import (
    TIME_UNITS,
    Column,
    is_time,
    read_heading,
    told_level,
    told_unit,
)
from runs.readers.results.comparison import (
    Cell,
    Comparison,
    arm_steps,
    caption_metric,
    is_beside,
    level,
    read_cell,
)
from runs.readers.results.llama_bench import is_llama_bench, read_llama_bench
from runs.readers.results.numbers import count, has_decimal_commas, number, with_points
from runs.readers.results.rows import RowBuilder, around
from runs.readers.results.safe import clean_text
from runs.readers.results.tables import Table, TableRow

_STYLES = {
    "markdown": "markdown-table",
    "grid": "grid-table",
    "box": "box-table",
    "csv": "csv-table",
    "plain": "plain-table",
    "json": "json-records",
    "listing": "listing",
}
_NO_NAME = re.compile(r"(?i)(?:values?|results?|数值|值|结果)?\Z")
_PER_POINT = ("model", "input_len", "output_len", "num_prompts", "request_rate")
NO_METRIC = ("concurrency", "arm", "index", "steps", "adapters", *_PER_POINT)


def read_table(table: Table, caption: str, settings: Mapping[str, JSON]) -> list[ResultRow] | None:
    """Read a table of results, None when it is none."""
    rows = _rows(_points(table), caption, around(settings))
    if rows is None or any(row.concurrency is not None for row in rows):
        return rows
    return [replace(row, concurrency=told_level(caption)) for row in rows]


def _rows(table: Table, caption: str, told: Mapping[str, JSON]) -> list[ResultRow] | None:
    if is_llama_bench(table):
        return read_llama_bench(table, told)
    if table.style == "csv" and {"model_id", "mean_ttft_ms"} <= set(table.header):
        return _sweep_rows(table)
    columns = [read_heading(cell) for cell in table.header]
    columns = _without_index(columns, table)
    keys = [each.key for each in columns if each]
    metrics = [key for key in keys if _is_metric(key)]
    if ("concurrency" in keys and metrics) or (len(metrics) >= 2 and _measures(table, columns)):
        return [_row(table, columns, row, caption, told) for row in table.rows]
    if _arms_across(table, columns):
        return _arm_rows(table, columns, caption, told)
    if _levels_across(table):
        return _level_rows(table, caption, told)
    if _repeats_across(table, caption):
        return _repeat_rows(table, caption, told)
    return _transposed(table, caption, told)


def _is_metric(key: str) -> bool:
    return key not in NO_METRIC


def _without_index(columns: list[Column | None], table: Table) -> list[Column | None]:
    """Only the first column without a heading is an index; any other has no name."""
    return [
        None if each and each.key == "index" and (index or not _counts_up(table)) else each
        for index, each in enumerate(columns)
    ]


def _counts_up(table: Table) -> bool:
    firsts = [number(row.cells[0]) for row in table.rows if row.cells]
    return firsts == [float(index) for index in range(len(firsts))]


def _measures(table: Table, columns: Sequence[Column | None]) -> bool:
    """Whether the named columns hold numbers at all."""
    places = [index for index, each in enumerate(columns) if each and _is_metric(each.key)]
    return any(
        read_cell(row.cells[index]).value is not None
        for row in table.rows
        for index in places
        if index < len(row.cells)
    )


def _tool(table: Table) -> str:
    # SGLang's experiment runner prints its data frame under bench_serving's names.
    if {"max_concurrency", "output_throughput", "per_user_throughput"} <= set(table.header):
        return "sglang.experiment_runner"
    return _STYLES[table.style]


def _row(
    table: Table,
    columns: Sequence[Column | None],
    row: TableRow,
    caption: str,
    told: Mapping[str, JSON],
) -> ResultRow:
    builder = RowBuilder(_tool(table), row.place)
    builder.context = dict(told)
    states = set()
    for heading, column, cell in zip(table.header, columns, row.cells, strict=False):
        if column is None:
            builder.keep(clean_text(heading, 120) or "column", cell or None)
        elif _is_metric(column.key):
            states.add(_put(builder, heading, column, cell, caption))
        else:
            _tell(builder, column.key, cell)
    bad = states - {"ok", "not measured"}
    if bad:
        builder.tell(status=sorted(bad)[0])
    return builder.done()


# What people write where there is nothing.
_NOTHING = re.compile(
    r"(?i)[\s\-–—_./?*`]*(?:n\.?/?a\.?|none|null|nan|inf|tbd|待测|无)?[\s\-–—_./?*`]*\Z"
)
_MOST_RATE = 1.5  # a printed accept rate above one is a known fault; far above it is a percentage


def _put(builder: RowBuilder, heading: str, column: Column, cell: str, caption: str) -> str:
    """Take a cell in the unit that it tells itself, or that its heading tells."""
    read, name = read_cell(cell), clean_text(heading, 120)
    if read.value is None:
        if read.status == "not measured" and not _NOTHING.match(cell):
            builder.keep(name, cell)
        return read.status
    unit = _unit(column, read, caption)
    if unit is None:
        # A number alone would lose the unit that its cell tells.
        builder.keep(name, cell if read.unit else read.value)
    else:
        builder.put(column.key, read.value, name, unit)
    return read.status


def _unit(column: Column, read: Cell, caption: str) -> str | None:
    """Give the unit of a cell's number; None where it is not known or is another quantity's."""
    if is_time(column.key) or column.key == "duration_s":
        if read.unit:
            return read.unit if read.unit in TIME_UNITS else None
        return column.unit or told_unit(caption) or None
    if column.key == "accept_rate":
        if read.unit == "%" or column.unit == "%":
            return "%"
        return None if read.unit or (read.value or 0) > _MOST_RATE else column.unit
    if not read.unit:
        return column.unit
    per_second = column.unit if column.unit in ("tok/s", "req/s") else None
    fits = read.unit[0] == (per_second or " ")[0] or (per_second == "req/s" and read.unit != "tps")
    return per_second if fits and read.unit not in (*TIME_UNITS, "%") else None


def _points(table: Table) -> Table:
    """Write the numbers of a table that has decimal commas with points."""
    if not has_decimal_commas(cell for row in table.rows for cell in row.cells):
        return table
    rows = (replace(row, cells=tuple(map(with_points, row.cells))) for row in table.rows)
    return replace(table, rows=tuple(rows))


def _tell(builder: RowBuilder, key: str, cell: str) -> None:
    text = cell.strip().strip("*` ")
    if key == "concurrency":
        builder.concurrency = level(text) or count(text)
    elif key == "arm" and text:
        builder.name = clean_text(text, 120)
        steps = arm_steps(text)
        builder.tell(spec_num_steps=None if text.isdigit() else steps)
    elif key == "steps":
        builder.tell(spec_num_steps=arm_steps(text))
    elif key == "adapters" and text:
        builder.tell(**_adapters(text))
    elif key in _PER_POINT and text:
        real = number(text)
        builder.tell(**{key: text if real is None else (int(real) if real == int(real) else real)})


_ADAPTERS = re.compile(r"([0-9]{1,5})\s?(?:\([^()]{0,60}\)|adapters?|loras?|个)?\Z", re.IGNORECASE)
_NO_ADAPTER = re.compile(r"(?i)(?:none|base(?:line| model)?|off|no|无|-|–|—)\Z")


def _adapters(cell: str) -> dict[str, JSON]:
    """Read how many adapters requests used ('8', '0 (base)'), or which ones ('sql, legal')."""
    told = _ADAPTERS.match(cell)
    if told:
        return {"lora_adapters": int(told[1])}
    names = [clean_text(each, 120) for each in re.split(r"[,+;、]\s?", cell) if each]
    return {"lora_names": [] if _NO_ADAPTER.match(cell) else [*names]}


def _arms_across(table: Table, columns: Sequence[Column | None]) -> bool:
    """First column concurrency, all others arms: 'off', 'steps=1', or names of no quantity."""
    if len(columns) < 3 or columns[0] is None or columns[0].key != "concurrency":
        return False
    others = [label for label in table.header[1:] if not is_beside(label)]
    steps = sum(arm_steps(label) is not None for label in others)
    unnamed = all(each is None for each in columns[1:])
    return steps >= 2 or (unnamed and all(label.strip() for label in others))


def _arm_rows(
    table: Table, columns: Sequence[Column | None], caption: str, told: Mapping[str, JSON]
) -> list[ResultRow]:
    reader = Comparison(_STYLES[table.style], caption, told)
    found = []
    for row in table.rows:
        concurrency = level(row.cells[0]) if row.cells else None
        for label, cell in zip(table.header[1:], row.cells[1:], strict=False):
            if concurrency is not None and not is_beside(label):
                found.append(reader.row(concurrency, label, cell, row.place).done())
    return found


def _levels_across(table: Table) -> bool:
    """Arms down, concurrency across: every other heading is a level, every first cell an arm."""
    levels = [level(cell) for cell in table.header[1:]]
    firsts = [row.cells[0] for row in table.rows if row.cells]
    return (
        len(levels) >= 2
        and None not in levels
        and any(arm_steps(each) is not None for each in firsts)
    )


def _level_rows(table: Table, caption: str, told: Mapping[str, JSON]) -> list[ResultRow]:
    reader = Comparison(_STYLES[table.style], caption, told)
    return [
        reader.row(level(heading), row.cells[0], cell, row.place).done()
        for row in table.rows
        if row.cells
        for heading, cell in zip(table.header[1:], row.cells[1:], strict=False)
    ]


_REPEAT = re.compile(
    r"(?i)(?:run|rep(?:eat|etition)?|trial|attempt|round|#|第)\s?#?[0-9]{1,2}(?:\s?[次轮遍])?\Z"
)


def _repeats_across(table: Table, caption: str) -> bool:
    """Arms down, 'run 1', 'run 2' across, and one metric that the caption names."""
    repeats = [label for label in table.header[1:] if not is_beside(label)]
    named = len(repeats) > 1 and all(_REPEAT.match(label.strip("*` ")) for label in repeats)
    return named and caption_metric(caption) is not None


def _repeat_rows(table: Table, caption: str, told: Mapping[str, JSON]) -> list[ResultRow]:
    reader = Comparison(_STYLES[table.style], caption, told)
    return [
        reader.row(None, row.cells[0], cell, row.place).done()
        for row in table.rows
        if row.cells
        for heading, cell in zip(table.header[1:], row.cells[1:], strict=False)
        if not is_beside(heading)
    ]


def _transposed(table: Table, caption: str, told: Mapping[str, JSON]) -> list[ResultRow] | None:
    """Metrics down, runs across: 'TTFT (ms) | 88 | 91'."""
    columns = [read_heading(row.cells[0]) if row.cells else None for row in table.rows]
    known = [each for each in columns if each and _is_metric(each.key) and each.unit]
    if len(known) < 2 or any(row.cut for row in table.rows[:-1]):
        return None
    found = []
    for index, label in enumerate(table.header[1:], start=1):
        named = None if _NO_NAME.match(label.strip()) else clean_text(label, 120)
        builder = RowBuilder(_STYLES[table.style], table.place, name=named)
        builder.context = dict(told)
        builder.tell(spec_num_steps=None if label.strip().isdigit() else arm_steps(label))
        for row, column in zip(table.rows, columns, strict=True):
            if index < len(row.cells) and column and _is_metric(column.key):
                _put(builder, row.cells[0], column, row.cells[index], caption)
            elif index < len(row.cells) and column:
                _tell(builder, column.key, row.cells[index])
            elif index < len(row.cells) and row.cells:
                builder.keep(clean_text(row.cells[0], 120), row.cells[index])
        if builder.metrics:
            found.append(builder.done())
    return found or None


def _sweep_rows(table: Table) -> list[ResultRow]:
    """A CSV whose columns are the keys of vLLM's JSON: `vllm bench sweep serve`."""
    found = []
    for row in table.rows:
        record: dict[str, JSON] = {
            name: _plain(cell)
            for name, cell in zip(table.header, row.cells, strict=False)
            if name and cell
        }
        found += vllm_bench.read(record, row.place)
    return found


def _plain(cell: str) -> JSON:
    real = number(cell)
    if real is not None:
        return real
    return re.sub(r"\A\[.*\]\Z", "[…]", cell) if len(cell) > 200 else cell
