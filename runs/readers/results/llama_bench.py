"""The Markdown table of llama-bench: a test a row, 'pp512' reads a prompt, 'tg128' generates."""

import re
from collections.abc import Mapping

from runs.engines.base import JSON
from runs.readers.results.base import ResultRow
from runs.readers.results.numbers import number
from runs.readers.results.rows import RowBuilder
from runs.readers.results.safe import clean_text
from runs.readers.results.tables import Table

TOOL = "llama-bench"
_TEST = re.compile(r"(?:pp([0-9]{1,7}))?\+?(?:tg([0-9]{1,7}))?(?: @ d([0-9]{1,7}))?\Z")
_RATE = re.compile(r"([0-9]{1,9}\.[0-9]{1,4})(?: ± [0-9]{1,9}\.[0-9]{1,4})?\Z")


def is_llama_bench(table: Table) -> bool:
    """Tell the table by its last two headings, which no other tool has."""
    return table.header[-2:] == ("test", "t/s")


def read_llama_bench(table: Table, told: Mapping[str, JSON]) -> list[ResultRow]:
    """Make a row of each test. It has one sequence, but no client and no concurrency."""
    found = []
    for row in table.rows:
        cells = dict(zip(table.header, row.cells, strict=False))
        test, rate = _TEST.match(cells.get("test", "")), _RATE.match(cells.get("t/s", ""))
        if row.cut or rate is None or test is None or not (test[1] or test[2]):
            continue
        builder = RowBuilder(TOOL, row.place, name=cells["test"])
        builder.context = dict(told)
        key = "total_tps" if test[1] and test[2] else "input_tps" if test[1] else "output_tps"
        builder.put(key, number(rate[1]), "t/s", "tok/s")
        for name, group in (("input_len", 1), ("output_len", 2), ("depth", 3)):
            builder.tell(**{name: int(test[group]) if test[group] else None})
        for heading, cell in cells.items():
            if heading == "model":
                builder.tell(model=cell)
            elif heading != "test" and heading:
                builder.keep(clean_text(heading, 120), cell or None)
        found.append(builder.done())
    return found
