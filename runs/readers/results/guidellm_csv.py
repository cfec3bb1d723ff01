"""CSV of GuideLLM: three rows of headings (group, quantity, statistic), lists inside of cells."""

import csv
import io
import json
from collections.abc import Sequence

from runs.engines.base import JSON, Damaged
from runs.readers.results import guidellm
from runs.readers.results.base import ResultReading, ResultRow
from runs.readers.results.finishing import with_defaults
from runs.readers.results.numbers import number
from runs.readers.results.rows import Place, RowBuilder, mark_attempts, shared
from runs.readers.results.safe import clean_text

# (group, quantity without the status before it) of the quantities, and our family and unit.
_TIMES = {
    ("Request Latency", "Sec"): ("e2e", "s"),
    ("Time to First Token", "ms"): ("ttft", "ms"),
    ("Time to First Output Token", "ms"): ("ttft_answer", "ms"),
    ("Inter Token Latency", "ms"): ("tpot", "ms"),
    ("Time per Output Token", "ms"): ("tpot_incl_first", "ms"),
    ("Token Metrics", "Input Tokens"): ("input_len", "tokens"),
    ("Token Metrics", "Output Tokens"): ("output_len", "tokens"),
}
_RATES = {
    ("Server Throughput", "Requests/Sec"): ("requests_per_s", "req/s"),
    ("Token Throughput", "Input Tokens/Sec"): ("input_tps", "tok/s"),
    ("Token Throughput", "Output Tokens/Sec"): ("output_tps", "tok/s"),
    ("Token Throughput", "Total Tokens/Sec"): ("total_tps", "tok/s"),
}
_SCALARS = {
    ("Timings", "Duration"): ("duration_s", "s"),
    ("Request Counts", "Successful"): ("completed", "requests"),
    ("Request Counts", "Errored"): ("failed", "requests"),
    ("Request Counts", "Total"): ("requests", "requests"),
}
_STATS = {"Mean": "mean", "Median": "p50", "Std Dev": "std"}
# What stands in a cell of percentiles, in this order.
_PERCENTILES = ("min", "p0_1", "p1", "p5", "p10", "p25", "p75", "p90", "p95", "p99", "max")
_HEADINGS = 3


def sniff(head: bytes) -> bool:
    first, _, rest = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    return first.startswith(b"Run Info,") and b",Timings," in first and b"Run ID" in rest[:200]


def read(data: bytes) -> ResultReading:
    """Give a row for each benchmark; a row that the end of the file cuts gives none."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").replace("\0", "\ufffd")
    rows: list[ResultRow] = []
    damaged: list[Damaged] = []
    headings: list[list[str]] = []
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        for cells in reader:
            if len(headings) < _HEADINGS:
                headings.append(cells)
            elif cells and len(cells) == len(headings[0]) and not _is_cut(text, reader.line_num):
                rows.append(_row(list(zip(*headings, strict=False)), cells, reader.line_num))
            elif cells:
                shown = clean_text(",".join(cells)[:200])
                damaged.append(Damaged("the row is cut", shown, len(data), reader.line_num))
    except csv.Error as error:
        damaged.append(Damaged(f"no CSV from here on: {error}", "", len(data), reader.line_num))
    rows = with_defaults(mark_attempts(rows))
    context = shared(row.context for row in rows)
    return ResultReading(tuple(rows), context, tuple(damaged), (), 0)


def _is_cut(text: str, line: int) -> bool:
    """Tell whether the row in this line touches the end of the text."""
    return not text.endswith("\n") and line >= text.count("\n") + 1


def _row(names: Sequence[tuple[str, ...]], cells: Sequence[str], line: int) -> ResultRow:
    builder = RowBuilder(guidellm.TOOL, Place(0, line))
    settings: dict[str, JSON] = {}
    for (group, quantity, statistic), cell in zip(names, cells, strict=False):
        key = (group, quantity.removeprefix("Successful "))
        native = " / ".join(part for part in (group, quantity, statistic) if part)
        if key in _SCALARS or (group, quantity) in _SCALARS:
            name, unit = _SCALARS[group, quantity]
            builder.put(name, number(cell), native, unit)
        elif key in _TIMES and quantity.startswith("Successful "):
            _time(builder, *_TIMES[key], statistic, cell, native)
        elif key in _RATES and statistic == "Mean":
            name, unit = _RATES[key]
            builder.put(name, number(cell), native, unit)
        elif key == ("Server Throughput", "Concurrency") and statistic == "Mean":
            builder.concurrency_measured = number(cell)
        elif (group, quantity) == ("Timings", "Warmup"):
            builder.tell(warmup_duration_s=number(cell))
        elif (group, quantity) == ("Benchmark", "Strategy"):
            guidellm.put_strategy(builder, cell)
        elif (group, quantity) == ("Runtime Info", "Metadata"):
            version = _object(cell).get("guidellm_version")
            builder.tool_version = version if isinstance(version, str) else None
        elif (group, quantity) == ("Runtime Info", "Arguments"):
            settings = guidellm.settings({"config": _object(cell)})
    builder.context = {**settings, **builder.context}
    return builder.done()


def _time(
    builder: RowBuilder, family: str, unit: str, statistic: str, cell: str, native: str
) -> None:
    if statistic in _STATS:
        builder.put(f"{family}_{_STATS[statistic]}", number(cell), native, unit)
    elif statistic == "Percentiles":
        values = cell.strip().removeprefix("[").removesuffix("]").split(", ")
        if len(values) == len(_PERCENTILES):
            for name, value in zip(_PERCENTILES, values, strict=True):
                builder.put(f"{family}_{name}", number(value), f"{native}.{name}", unit)


def _object(cell: str) -> dict[str, JSON]:
    try:
        told = json.loads(cell)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
