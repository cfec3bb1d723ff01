"""A result as a list of 'label: value', a line a quantity, as people and small scripts write it.

A list is read as a table of one row, by the same headings. sglang.bench_one_batch_server prints
one, too, for each of its batches.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from runs.engines.base import JSON
from runs.readers.results import one_batch
from runs.readers.results.base import ResultRow
from runs.readers.results.columns import read_heading
from runs.readers.results.numbers import number
from runs.readers.results.rows import Place, around
from runs.readers.results.table_rows import NO_METRIC, read_table
from runs.readers.results.tables import Table, TableRow

_LIMIT = 200
_PAIR = re.compile(
    r"\s{0,8}(?:[-*•·]\s{1,4})?\*{0,2}([^\W\d_][^:：=|\"'{}\[\]<>]{0,60}?)\s{0,40}\*{0,2}"
    r"\s?[:：]\*{0,2}\s{0,40}\*{0,2}(\S(?:.{0,60}\S)?)\s{0,40}\Z"
)
_VALUE = re.compile(
    r"[+-]?[0-9][0-9,]{0,18}(?:\.[0-9]{1,12})?\s{0,4}(?:[kKM] )?"
    r"(?:[a-zA-Zµμ%\u4e00-\u9fff/]{1,16})?\*{0,2}\Z"
)
_MOST = 200
_LEAST, _LEAST_WITH_LEVEL = 3, 2  # quantities, without and with a concurrency
WARM_UP = re.compile(r"={4,} Warmup (Begin|End) {1,4}={4,}\s*\Z")
_ONE_BATCH = {
    "batch size": "batch_size",
    "input_len": "input_len",
    "output_len": "output_len",
    "latency": "latency",
    "input throughput": "input_throughput",
    "output throughput": "output_throughput",
    "ttft": "last_ttft",
    "last_ttft": "last_ttft",
    "last generation throughput": "last_gen_throughput",
    "acc_length": "acc_length",
    "cache hit rate": "cache_hit_rate",
}


def pair_of(text: str) -> tuple[str, str] | None:
    """Give the label and the value of a line, None when it is something else."""
    if len(text) > _LIMIT:
        return None
    found = _PAIR.match(text)
    return (found[1], found[2].rstrip("*")) if found else None


def opens_listing(text: str, place: Place) -> "Listing | None":
    """Give a list when the line names a quantity or a concurrency, and its value is a number."""
    if len(text) > _LIMIT or (":" not in text and "：" not in text):
        return None
    pair = pair_of(text)
    if pair is None or not _VALUE.match(pair[1]):
        return None
    column = read_heading(pair[0])
    opens = column is not None and (column.key == "concurrency" or column.key not in NO_METRIC)
    return Listing(place) if opens else None


@dataclass(slots=True)
class Listing:
    """An open list; it ends at the first line that is no pair. `taken`: the lines that are its."""

    place: Place
    pairs: dict[str, str] = field(default_factory=dict)
    taken: list[str] = field(default_factory=list)

    def take(self, text: str, *, terminated: bool) -> bool:
        """Take a line whose quantity is known; another pair stands between them and is not taken.

        The value of a line that has no end is not known.
        """
        pair = pair_of(text)
        if pair is None or not terminated or len(self.pairs) >= _MOST:
            return False
        label, value = pair
        if label in self.pairs or not _VALUE.match(value):
            return False
        if read_heading(label) is None and label not in _ONE_BATCH:
            return False
        self.pairs[label] = value
        self.taken.append(text)
        return True

    def goes_on(self, text: str) -> bool:
        """Whether the list is open behind a line: the same label again begins another one."""
        pair = pair_of(text)
        return pair is not None and (pair[0] not in self.pairs or not _VALUE.match(pair[1]))

    def rows(self, caption: str, settings: Mapping[str, JSON]) -> list[ResultRow]:
        """Make the row; none of what has too few quantities for a result."""
        if {"batch size", "last generation throughput"} <= set(self.pairs):
            return self._one_batch(settings)
        columns = [read_heading(label) for label in self.pairs]
        keys = {each.key for each in columns if each}
        least = _LEAST_WITH_LEVEL if "concurrency" in keys else _LEAST
        if len(keys - {*NO_METRIC}) < least:
            return []
        cells = (
            value.split()[0] if column and column.key == "concurrency" else value
            for column, value in zip(columns, self.pairs.values(), strict=True)
        )
        row = TableRow(tuple(cells), self.place, cut=False)
        table = Table("listing", tuple(self.pairs), (row,), self.place)
        return read_table(table, caption, settings) or []

    def _one_batch(self, settings: Mapping[str, JSON]) -> list[ResultRow]:
        record: dict[str, JSON] = {
            key: number(self.pairs[label].split(" ")[0])
            for label, key in _ONE_BATCH.items()
            if label in self.pairs
        }
        rows = one_batch.read(record, self.place)
        for row in rows:
            row.context.update({**around(settings), **row.context})
        return rows
