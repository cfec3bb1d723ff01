"""Putting a row together: each metric with its native name, unit and formula."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from runs.engines.base import JSON, Damaged
from runs.readers.results.base import Metric, ResultRow
from runs.readers.results.names import formula
from runs.readers.results.numbers import json_number, to_base
from runs.readers.results.safe import clean, clean_name, clean_text


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its source a result begins: byte offset, and line from 1."""

    offset: int
    line: int


START = Place(0, 1)


def around(settings: Mapping[str, JSON]) -> dict[str, JSON]:
    """Give what a client's settings say around a row, whose tool and concurrency are its own."""
    return {k: v for k, v in settings.items() if k not in ("tool", "max_concurrency")}


def cut_short(text: str, place: Place) -> Damaged:
    """Tell a line of a result whose value may go on where the text was cut."""
    reason = "the value touches the end of the text"
    return Damaged(reason, clean_text(text), place.offset, place.line)


@dataclass(slots=True)
class RowBuilder:
    """Collects one row; the first value of a metric stands, a second one stays under its name."""

    tool: str
    place: Place
    tool_version: str | None = None
    name: str | None = None
    concurrency: int | None = None
    concurrency_measured: float | None = None
    metrics: dict[str, Metric] = field(default_factory=dict)
    other: dict[str, JSON] = field(default_factory=dict)
    context: dict[str, JSON] = field(default_factory=dict)

    def put(self, key: str, value: JSON, native_name: str, unit: str) -> None:
        """Take one metric in its native unit; an absent value (None) is not taken."""
        if value is None:
            return
        base = to_base(json_number(value), unit)
        if key in self.metrics:
            if self.metrics[key].value != base:
                self.keep(native_name, value)
            return
        self.metrics[key] = Metric(base, native_name, unit, formula(self.tool, key))

    def keep(self, native_name: str, value: object) -> None:
        """Keep what has no canonical name under its own."""
        if value is not None:
            self.other[clean_name(native_name)] = clean(value)

    def tell(self, **settings: JSON) -> None:
        """Take settings; what is None was not told."""
        self.context |= {key: value for key, value in settings.items() if value is not None}

    def done(self) -> ResultRow:
        return ResultRow(
            tool=self.tool,
            tool_version=self.tool_version,
            name=self.name,
            concurrency=self.concurrency,
            concurrency_measured=self.concurrency_measured,
            metrics=self.metrics,
            other=self.other,
            context=self.context,
            offset=self.place.offset,
            line=self.place.line,
        )


def shared(contexts: Iterable[Mapping[str, JSON]]) -> dict[str, JSON]:
    """Give the settings that all rows have with the same value."""
    found: dict[str, JSON] | None = None
    for each in contexts:
        if found is None:
            found = dict(each)
        else:
            found = {key: value for key, value in found.items() if each.get(key) == value}
    return {key: value for key, value in (found or {}).items() if key not in _OWN}


# Settings that are a row's own, whatever the others have.
_OWN = ("label", "tag", "status", "latest", "attempt", "source", "variant")


def mark_attempts(rows: list[ResultRow]) -> list[ResultRow]:
    """Number the attempts at one point in a file that is appended to; the last is the latest."""
    rows = [_with_variant(row, rows) for row in rows]
    seen: dict[str, list[int]] = {}
    arms: dict[str, set[str]] = {}
    for row in rows:
        arms.setdefault(_point(row), set()).update({_arm(row)} - {_TRIED})
    for index, row in enumerate(rows):
        point, arm = _point(row), _arm(row)
        # A try without an arm of its own belongs to the only arm there is.
        arm = min(arms[point]) if arm == _TRIED and len(arms[point]) == 1 else arm
        seen.setdefault(point + arm, []).append(index)
    marked = list(rows)
    for indexes in seen.values():
        for attempt, index in enumerate(indexes, start=1):
            row = rows[index]
            context = {**row.context, "attempt": attempt, "latest": attempt == len(indexes)}
            marked[index] = replace(row, context=context)
    return marked


# What makes a point: two rows that agree in all of it are attempts at the same one.
_POINT = (
    *("model", "backend", "dataset", "request_rate", "input_len", "output_len", "range_ratio"),
    *("temperature", "spec_algorithm", "spec_num_steps", "spec_num_draft_tokens", "tp"),
    *("num_prompts", "variant", "lora_adapters", "lora_names"),
)
# A tag that says no more than that it was not the only try.
_TRY = re.compile(r"(?i)(?:^|[-_. ])(?:re)?(?:try|attempt|test|old|first|run|again|redo|warm-?up)")
_TAG_END = re.compile(r"[-_.+ ]+")


_TRIED = "#try"


def _point(row: ResultRow) -> str:
    return repr([row.tool, row.concurrency, *(row.context.get(key) for key in _POINT)])


def _arm(row: ResultRow) -> str:
    """Give the tag without the concurrency it names: 'c16_t07' at 16 is 'c#_t07'."""
    if row.name is not None and _TRY.search(row.name):
        return _TRIED
    number = str(row.concurrency)
    return re.sub(rf"(?<![0-9]){number}(?![0-9])", "#", row.name or "")


def _with_variant(row: ResultRow, rows: list[ResultRow]) -> ResultRow:
    """Name what a tag adds to the tag of the others: 'c16_t07' among 'c16', 'c64' adds 't07'."""
    own = _arm(row)
    for other in {_arm(each) for each in rows}:
        rest = own[len(other) :]
        if other and other != _TRIED and own.startswith(other) and _TAG_END.match(rest):
            return replace(row, context={**row.context, "variant": _TAG_END.sub(" ", rest).strip()})
    return row
