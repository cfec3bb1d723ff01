"""What llmperf's token_benchmark_ray.py prints at its end: a family a heading, a statistic a line.

Seconds everywhere; its inter-token latency holds the first token, as in its JSON.
"""

import re
from dataclasses import dataclass, field

from runs.engines.base import JSON, Damaged
from runs.readers.results import llmperf
from runs.readers.results.base import ResultRow
from runs.readers.results.names import stat
from runs.readers.results.numbers import count, number
from runs.readers.results.rows import Place, RowBuilder, around, cut_short
from runs.readers.results.safe import clean_text

TITLE = re.compile(r"\\?Results for token benchmark for (\S{1,300}) queried with the \S{1,60} api")
_LIMIT = 400
_FAMILY = re.compile(r"([a-z_]{3,60})\Z")
_STAT = re.compile(r"\s{1,8}(p[0-9]{1,2}|mean|min|max|stddev) = (\S{1,40})\Z")
_TOTAL = re.compile(r"((?:Number|Overall|Completed)[A-Za-z ]{5,40}): (\S{1,40})\Z")
_TOTALS = {
    "Number Of Errored Requests": ("failed", "requests"),
    "Overall Output Throughput": ("output_tps", "tok/s"),
    "Number Of Completed Requests": ("completed", "requests"),
    "Completed Requests Per Minute": ("requests_per_s", "req/min"),
}


@dataclass(slots=True)
class LlmperfReport:
    """An open output; blank lines are of it, and it ends at the first line that is none of it."""

    place: Place
    model: str
    family: str | None = None
    figures: list[tuple[str, str, str, str]] = field(default_factory=list)
    damaged: list[Damaged] = field(default_factory=list)

    def take(self, text: str, place: Place, *, terminated: bool) -> bool:
        text = text.rstrip()
        if not text:
            return True
        given, total = _STAT.match(text), _TOTAL.match(text)
        if len(text) > _LIMIT or not (given or total or _FAMILY.match(text)):
            return False
        if not terminated:
            if given or total:
                self.damaged.append(cut_short(text, place))
        elif given:
            family, unit = llmperf.FAMILIES.get(self.family or "", (None, ""))
            if family is not None:
                name = f"{self.family} {given[1]}"
                self.figures.append((f"{family}_{stat(given[1])}", given[2], name, unit))
        elif total:
            if total[1] in _TOTALS:
                key, unit = _TOTALS[total[1]]
                self.figures.append((key, total[2], total[1], unit))
        else:
            self.family = text
        return True

    def row(self, settings: dict[str, JSON]) -> ResultRow | None:
        """Make the row, None when the output was cut before any figure."""
        if not self.figures:
            return None
        builder = RowBuilder(llmperf.TOOL, self.place)
        builder.concurrency = count(settings.get("max_concurrency"))
        builder.context = {"model": self.model, **around(settings)}
        for key, value, name, unit in self.figures:
            builder.put(key, number(value), name, unit)
        return builder.done()


def opens_llmperf(text: str, place: Place) -> LlmperfReport | None:
    """Give an open output when the line is its title."""
    title = TITLE.match(text.strip()) if "Results for token" in text else None
    return None if title is None else LlmperfReport(place, clean_text(title[1], 300))
