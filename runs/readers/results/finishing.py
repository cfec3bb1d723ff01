"""What a row gets when its text is read: who printed it, its label, what failed, defaults."""

import re
from dataclasses import replace

from runs.engines.base import JSON
from runs.readers.results import client
from runs.readers.results.base import Metric, ResultRow
from runs.readers.results.numbers import count
from runs.readers.results.rows import Place, RowBuilder, around
from runs.readers.results.safe import clean_text
from runs.readers.results.source import PROGRESS, Source


def failed_row(state: Source, place: Place, failed: int) -> ResultRow:
    """Make the row of a client that ended without a result: what was asked, and what failed."""
    tool = state.settings.get("tool")
    builder = RowBuilder(tool if isinstance(tool, str) else "unknown", place)
    builder.context = around(state.settings)
    builder.concurrency = count(state.settings.get("max_concurrency"))
    builder.put("failed", failed or None, "lines that report a failed request", "requests")
    builder.tell(status="failed")
    return builder.done()


def sourced(row: ResultRow, state: Source) -> ResultRow:
    told: dict[str, JSON] = {}
    if state.name is not None:
        told["source"] = state.name
    if state.label is not None:
        told["label"] = state.label
    return replace(row, context={**row.context, **told})


def with_failed(row: ResultRow, progress: tuple[int, int] | None) -> ResultRow:
    """Tell failures that a block does not: its progress bar counts them, its successes do not."""
    completed = row.value("completed")
    if progress is None or completed is None or "failed" in row.metrics:
        return row
    done, of = progress
    if done != of or completed >= of:
        return row
    failed = Metric(of - completed, "progress bar − successful requests", "requests", "difference")
    return replace(row, metrics={**row.metrics, "failed": failed})


def with_adapters(rows: list[ResultRow]) -> list[ResultRow]:
    """Where some runs name adapters, tell them from those that name none."""
    if not any(row.context.get("lora_names") for row in rows):
        return rows
    found = []
    for row in rows:
        names = row.context.get("lora_names")
        if isinstance(names, list) and "label" not in row.context:
            row = replace(row, context={**row.context, "label": "lora" if names else "base"})
        found.append(row)
    return found


def same_settings(before: dict[str, JSON], after: dict[str, JSON]) -> bool:
    return all(before.get(key) == value for key, value in after.items())


def label_of(remark: str) -> str | None:
    """Give the name in a remark such as '# client, run 2': whose lines these are is no name."""
    parts = [part.strip(" #:=-") for part in re.split(r"[,;:]", remark)]
    kept = [part for part in parts if part.lower() not in ("client", "server", "bench", "log", "")]
    return clean_text(kept[0], 120) if kept else None


def without_bar(text: str) -> str:
    """Cut off a progress bar that stands before a message on the same line."""
    bar = PROGRESS.match(text)
    return text[bar.end() :] if bar else text


def with_defaults(rows: list[ResultRow]) -> list[ResultRow]:
    found = []
    for row in rows:
        told = client.defaults(row.tool, row.context)
        context = {**row.context, "defaults": told} if told else row.context
        found.append(replace(row, context=context))
    return found
