"""Result rows sorted into arms: rows of one arm differ in their concurrency, and in nothing else.

A tag that only names the concurrency ('c16') sets nothing apart; what it adds ('c16_t07') does.
Several rows at one point are attempts at it: the last one counts, the others are kept beside it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from runs.engines.base import JSON
from runs.intake.plan import Hints
from runs.readers.reading import Reading, Row
from runs.readers.results.base import Metric, ResultRow

_TRY = re.compile(
    r"(?i)(?:^|[-_. ])(?:re)?(?:run|try|attempt|test|old|first|again|redo|repeat|warm-?up)"
)
_EDGES = " _-.,;:+"
_CLIENT = (
    *("dataset", "input_len", "output_len", "range_ratio", "temperature", "ignore_eos"),
    *("apply_chat_template", "scenario", "variant"),
)
_SERVER = (
    *("spec_algorithm", "spec_num_steps", "spec_num_draft_tokens", "tp", "dp", "model"),
    *("attention_backend", "disable_cuda_graph"),
)
_WORDS = {
    "dataset": "{}",
    "input_len": "in={}",
    "output_len": "out={}",
    "range_ratio": "range ratio {}",
    "temperature": "temp={}",
    "ignore_eos": "ignore_eos {}",
    "apply_chat_template": "chat template {}",
}


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of one arm. `label` is what the text calls it, `text` the place of the text."""

    text: int
    label: str | None
    tool: str
    rows: tuple[ResultRow, ...]

    def setting(self, name: str) -> JSON:
        return self.rows[0].context.get(name)

    @property
    def points(self) -> set[int | None]:
        return {row.concurrency for row in self.rows}


def results_of(reading: Reading) -> tuple[ResultRow, ...]:
    """Give all rows; those of a plain sheet become rows with two metrics."""
    return reading.results or tuple(map(_from_sheet, reading.rows))


def _from_sheet(row: Row) -> ResultRow:
    told = {
        "output_tps": ("aggregate_tok_s", row.output_tps),
        "user_tps": ("per_request_tok_s", row.user_tps),
    }
    metrics = {
        name: Metric(value, column, "tok/s", "as written in the sheet")
        for name, (column, value) in told.items()
        if value is not None
    }
    return ResultRow(
        tool="unknown",
        tool_version=None,
        name=row.arm,
        concurrency=row.concurrency,
        concurrency_measured=None,
        metrics=metrics,
        other={},
        context={},
        offset=row.offset,
        line=row.line,
    )


def groups_of(text: int, rows: Sequence[ResultRow], hints: Hints) -> list[Group]:
    """Sort one text's rows into arms, in the order in which the arms begin."""
    sorted_: dict[str, Group] = {}
    numbered = all(row.name == str(row.concurrency) for row in rows)
    for row in (_hinted(row, hints) for row in rows):
        label = None if numbered else label_of(row)
        key = repr([label, client_key(row), [row.context.get(name) for name in _SERVER]])
        found = sorted_.get(key)
        before = found.rows if found else ()
        sorted_[key] = Group(text, label, row.tool, (*before, row))
    return _with_tries(list(sorted_.values()))


def _hinted(row: ResultRow, hints: Hints) -> ResultRow:
    """Add what somebody noted of the runs whose tag ends so."""
    for ending, told in hints.settings.items():
        if (row.name or "").endswith(ending):
            return replace(row, context={**row.context, **told})
    return row


def label_of(row: ResultRow) -> str | None:
    """Give the arm's name in the row: without its concurrency, its variant and its try."""
    for word in (row.name, *(row.context.get(k) for k in ("tag", "label"))):
        if not isinstance(word, str) or not word.strip():
            continue
        if _TRY.match(word):
            return None
        words = _without_level(word, row.concurrency)
        variant = row.context.get("variant")
        if isinstance(variant, str) and words.replace("_", " ").endswith(variant):
            words = words[: len(words) - len(variant)]
        return words.strip(_EDGES)[:120] or None
    return None


def _without_level(word: str, concurrency: int | None) -> str:
    """Take 'c16', 'conc=16' or 'bs16' off at a concurrency of 16, a bare '16' behind words."""
    if concurrency is None:
        return word
    named = r"(?:c|n|bs|cc|conc|concurrency|clients|users|max[-_ ]?concurrency)"
    with_name = rf"(?i)(?<![a-z]){named}[-_=: ]?{concurrency}(?![0-9.])"
    bare = rf"(?<=[a-z0-9][-_ /])(?<!steps[-_ /]){concurrency}\Z"
    return re.sub(bare, "", re.sub(with_name, "", word))


def _with_tries(groups: list[Group]) -> list[Group]:
    """Give a try without a name of its own to the only named arm that has its point."""
    named = [group for group in groups if group.label is not None]
    found = list(groups)
    for group in groups:
        hosts = [each for each in named if each.tool == group.tool and group.points <= each.points]
        if group.label is None and len(hosts) == 1 and _is_try(group):
            place = next(i for i, each in enumerate(found) if each.label == hosts[0].label)
            found.remove(group)
            place = next(i for i, each in enumerate(found) if each.label == hosts[0].label)
            rows = sorted((*group.rows, *found[place].rows), key=lambda row: row.offset)
            found[place] = replace(found[place], rows=tuple(rows))
    return found


def _is_try(group: Group) -> bool:
    return all(row.name is not None and _TRY.match(row.name) for row in group.rows)


def points(rows: Sequence[ResultRow]) -> list[tuple[ResultRow, tuple[ResultRow, ...]]]:
    """Give each point's latest row with the earlier ones, by concurrency."""
    found: dict[int, list[ResultRow]] = {}
    for row in rows:
        if row.concurrency is not None:
            found.setdefault(row.concurrency, []).append(row)
    return [(found[level][-1], tuple(found[level][:-1])) for level in sorted(found)]


def client_key(row: ResultRow) -> str:
    """Give what two rows of one arm have in common of their client."""
    return repr([row.tool, *(row.context.get(name) for name in _CLIENT)])


def difference(group: Group, main: Group) -> str:
    """Say what a group's client did otherwise than the main one's: 'temperature 0.7'."""
    told = []
    for name, form in _WORDS.items():
        value = group.setting(name)
        if value is not None and value != main.setting(name):
            told.append(form.format(_plain(value)))
    for name in ("variant", "scenario"):
        word = group.setting(name)
        if not told and isinstance(word, str) and word != main.setting(name):
            told.append(word)
    if not told and group.tool != main.tool:
        told.append(group.tool)
    return ", ".join(told)


def _plain(value: JSON) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def spec_words(told: Mapping[str, JSON]) -> str | None:
    """Name a server by its speculation; None where nothing is said of it."""
    steps = told.get("spec_num_steps", told.get("num_speculative_tokens"))
    algorithm = told.get("spec_algorithm")
    if isinstance(steps, int) and steps > 0:
        return f"steps={steps}"
    return str(algorithm) if algorithm else None
