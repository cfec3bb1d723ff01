"""JSON in a text that no tool wrote: a server's own dump, and records of somebody's script."""

import re

from runs.engines.base import JSON
from runs.readers.results.base import ResultRow
from runs.readers.results.bench_serving import server_settings
from runs.readers.results.columns import read_heading
from runs.readers.results.jsondoc import JsonTool, Object
from runs.readers.results.rows import Place
from runs.readers.results.table_rows import NO_METRIC, read_table
from runs.readers.results.tables import Table, TableRow

_KEYS_LIMIT = 200
# Two of these tell SGLang's /server_info, whole or cut down to what matters.
_SERVER = {
    *("model_path", "tp_size", "dp_size", "max_running_requests", "mem_fraction_static", "version"),
    *("speculative_algorithm", "speculative_num_steps", "speculative_num_draft_tokens"),
}


def _is_server(found: Object) -> bool:
    told = [key for key in _SERVER if found.get(key) is not None]
    return "output_throughput" not in found and (len(told) > 1 or "internal_states" in found)


def _no_rows(found: Object, place: Place) -> list[ResultRow]:
    return []


# No file is told by it: a log may follow behind such a dump.
SERVER_INFO = JsonTool(
    "sglang.server_info", re.compile(rb"(?!)"), _is_server, _no_rows, server_settings
)


def read_records(found: JSON, place: Place) -> list[ResultRow]:
    """Read flat objects that name a concurrency and metrics as a table's headings would."""
    rows: list[ResultRow] = []
    for each in found if isinstance(found, list) else [found]:
        if isinstance(each, dict) and _is_record(each):
            cells = tuple("" if value is None else str(value) for value in each.values())
            row = TableRow(cells, place, cut=False)
            rows += read_table(Table("json", tuple(each), (row,), place), "", {}) or []
    return rows


def _is_record(found: Object) -> bool:
    if len(found) > _KEYS_LIMIT or any(isinstance(each, dict | list) for each in found.values()):
        return False
    known = {
        column.key
        for key, value in found.items()
        if (column := read_heading(key)) and isinstance(value, int | float)
    }
    return "concurrency" in known and len(known - set(NO_METRIC)) > 1
