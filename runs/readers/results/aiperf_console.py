"""AIPerf's and GenAI-Perf's console table: names with units down, statistics across, N/A."""

import re
from collections.abc import Mapping

from runs.engines.base import JSON
from runs.readers.results import aiperf
from runs.readers.results.numbers import count, number
from runs.readers.results.rows import RowBuilder
from runs.readers.results.tables import Table

_UNIT = re.compile(r"\s*\(([a-zA-Zµ/%]{1,30}|per sec)\)\s*\Z")
DURATION = re.compile(r"Benchmark Duration:\s*([0-9.,]{1,20})\s*(sec|s|ms|min)\b")


def is_console(table: Table) -> bool:
    """Tell AIPerf's table by its headings; its CSV has a second one, of single values."""
    header = [cell.lower() for cell in table.header]
    if header[:1] not in (["metric"], ["statistic"]) or table.style not in ("box", "csv"):
        return False
    return header == ["metric", "value"] or "avg" in header


def console_row(table: Table) -> RowBuilder:
    """Make the row of one printed table; what stands below it is added later."""
    builder = RowBuilder(aiperf.TOOL, table.place)
    for row in table.rows:
        if not row.cells:
            continue
        match = _UNIT.search(row.cells[0])
        unit = match[1] if match else ""
        title = row.cells[0][: match.start()] if match else row.cells[0]
        stats: dict[str, JSON] = {
            "avg" if word.strip().lower() == "value" else word.strip().lower(): number(cell)
            for word, cell in zip(table.header[1:], row.cells[1:], strict=False)
            if number(cell) is not None
        }
        aiperf.put_metric(builder, "_".join(title.lower().split()), stats, unit)
    return builder


def merge(builder: RowBuilder, more: RowBuilder) -> bool:
    """Add the metrics of the table below; False when it is the table of another run."""
    if not set(builder.metrics).isdisjoint(more.metrics):
        return False
    builder.metrics |= more.metrics
    builder.other |= more.other
    builder.concurrency_measured = builder.concurrency_measured or more.concurrency_measured
    return True


def add_settings(builder: RowBuilder, settings: Mapping[str, JSON]) -> None:
    """Add what the command line below the table says."""
    asked = settings.get("max_concurrency")
    if asked is not None and not isinstance(asked, list):
        builder.concurrency = count(asked)
    builder.context |= {
        key: value for key, value in settings.items() if key not in ("max_concurrency", "tool")
    }
