"""The tables that GuideLLM prints at its end: benchmarks down, in each table the same ones.

Three rows of headings: group, quantity, statistic. A cell that reaches over several columns is
followed by as many bars.
"""

import re
from dataclasses import dataclass, field

from runs.engines.base import JSON
from runs.readers.results import guidellm
from runs.readers.results.base import ResultRow
from runs.readers.results.numbers import leading_number
from runs.readers.results.rows import Place, RowBuilder, around

RULE = re.compile(r"\s{0,4}\|={3,}(?:\|=+){1,200}\|\s*\Z")
_LINE_RULE = re.compile(r"\s{0,4}\|[-=]{3,}(?:\|[-=]+){0,200}\|\s*\Z")
_TITLE = re.compile(r"\s{0,4}(?:ℹ|i)?\s{0,2}[A-Z][A-Za-z ]{3,60} (?:Statistics|Info)\b")
_LIMIT = 4000
_HEADINGS = 3
_TIMES = {
    ("Request Latency", "Sec"): ("e2e", "s"),
    ("TTFT", "ms"): ("ttft", "ms"),
    ("TTFOT", "ms"): ("ttft_answer", "ms"),
    ("ITL", "ms"): ("tpot", "ms"),
    ("TPOT", "ms"): ("tpot_incl_first", "ms"),
    ("Input Tok", "Per Req"): ("input_len", "tokens"),
    ("Output Tok", "Per Req"): ("output_len", "tokens"),
}
_STATS = {"Mean": "mean", "Mdn": "p50", "p95": "p95", "p99": "p99"}
_SCALARS = {
    ("Timings", "Dur", "Sec"): ("duration_s", "s"),
    ("Requests", "Comp", "Tot"): ("completed", "requests"),
    ("Requests", "Err", "Tot"): ("failed", "requests"),
    ("Input Tokens", "Comp", "Tot"): ("input_tokens", "tokens"),
    ("Output Tokens", "Comp", "Tot"): ("output_tokens", "tokens"),
    ("Requests", "Per Sec", "Mean"): ("requests_per_s", "req/s"),
    ("Input Tokens", "Per Sec", "Mean"): ("input_tps", "tok/s"),
    ("Output Tokens", "Per Sec", "Mean"): ("output_tps", "tok/s"),
    ("Total Tokens", "Per Sec", "Mean"): ("total_tps", "tok/s"),
}


@dataclass(slots=True)
class GuidellmTables:
    """All tables of one run of the tool; `take` tells whether a line is of them."""

    place: Place
    builders: list[RowBuilder] = field(default_factory=list)
    headings: list[list[str]] = field(default_factory=list)
    body: int | None = None  # how many rows of this table came; None: its headings are not whole

    def take(self, text: str, place: Place, *, terminated: bool) -> bool:
        """Take a rule, a row of headings, a row of values, or the title of the next table."""
        if len(text) > _LIMIT:
            return False
        if RULE.match(text):
            self.headings, self.body = [], None
            return True
        if _LINE_RULE.match(text):
            self.body = 0 if len(self.headings) == _HEADINGS else None
            return True
        if text.lstrip()[:1] != "|":
            return _TITLE.match(text) is not None or not text.strip()
        if not terminated and not text.rstrip().endswith("|"):
            return True  # which of its cells are whole cannot be told
        cells = text.strip()[1:].removesuffix("|").split("|")
        if self.body is None:
            self.headings.append(_filled(cells))
        elif len(cells) == len(self.headings[0]):
            self._row([cell.strip() for cell in cells], place)
        return True

    def _row(self, cells: list[str], place: Place) -> None:
        if self.body is None:
            return
        if self.body == len(self.builders):
            builder = RowBuilder(guidellm.TOOL, place)
            guidellm.put_strategy(builder, cells[0])
            self.builders.append(builder)
        if self.body < len(self.builders):
            builder = self.builders[self.body]
            for names, cell in zip(zip(*self.headings, strict=False), cells, strict=False):
                _put(builder, names, cell)
        self.body += 1

    def rows(self, settings: dict[str, JSON]) -> list[ResultRow]:
        """Give a row for each benchmark; what the tables say wins over the tool's command."""
        for builder in self.builders:
            builder.context = {**around(settings), **builder.context}
        return [builder.done() for builder in self.builders if builder.metrics]


def _filled(cells: list[str]) -> list[str]:
    """Give each column its own heading: nothing between two bars belongs to the cell before."""
    found: list[str] = []
    for cell in cells:
        found.append(found[-1] if cell == "" and found else cell.strip())
    return found


def _put(builder: RowBuilder, names: tuple[str, ...], cell: str) -> None:
    if len(names) != _HEADINGS:
        return
    group, quantity, statistic = names
    value, native = leading_number(cell.rstrip("*")), " / ".join(names)
    if names in _SCALARS:
        key, unit = _SCALARS[group, quantity, statistic]
        builder.put(key, value, native, unit)
    elif (group, quantity) in _TIMES and statistic in _STATS:
        family, unit = _TIMES[group, quantity]
        builder.put(f"{family}_{_STATS[statistic]}", value, native, unit)
    elif names == ("Requests", "Concurrency", "Mean"):
        builder.concurrency_measured = value
    elif names == ("Timings", "Warm", "Sec"):
        builder.tell(warmup_duration_s=value)
