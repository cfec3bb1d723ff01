"""The table everybody makes: concurrency down, off / 1 / 2 / 3 steps across, one metric in it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runs.engines.base import JSON
from runs.readers.results.columns import (
    TIME_UNITS,
    Column,
    is_time,
    read_heading,
    told_statistic,
    told_unit,
)
from runs.readers.results.numbers import count, leading_number, measure
from runs.readers.results.rows import Place, RowBuilder
from runs.readers.results.safe import clean_text

_OFF = re.compile(
    r"(?i)(?:off|baseline|base|none|vanilla|ar|无|基线|原始)\Z|"
    r"(?:no[- ]?spec|no speculation|disabled?\b|without\b|w/o\b|关闭?|不开|未开启?)"
)
# 'EAGLE3' names an algorithm, 'MTP-3' a number of steps.
_STEPS = (
    re.compile(r"(?i)(?<![a-z])(?:steps?|步数?)\s?[=:\-_ ]?\s?([0-9]{1,2})(?![0-9.])"),
    re.compile(r"(?i)(?<![0-9.])([0-9]{1,2})[ -]?(?:steps?(?![a-z])|步)"),
    re.compile(
        r"(?i)(?<![a-z])(?:s|k|num[-_ ]spec(?:ulative)?[-_ ]tokens)\s?=\s?([0-9]{1,2})(?![0-9.])"
    ),
    re.compile(r"(?i)(?<![a-z])(?:mtp|nextn|draft)\s?[=:\-_ ]?\s?([0-9]{1,2})\Z"),
    re.compile(r"([0-9]{1,2})\Z"),
)
_BESIDE = re.compile(
    r"(?i)speed-?up|gain|delta|change|ratio|diff|improve|加速|提升|变化|比例|备注|note"
)
_IN_BRACKETS = re.compile(r"\s*[(（\[]([^()（）\[\]]{1,40})[)）\]]\s*\Z")
# 'baseline tok/s': the unit stands behind the arm without brackets.
_UNIT_BEHIND = re.compile(r"(?i)(?<=\S)\s+(?:output\s+)?tok(?:en)?s?\s?/\s?s(?:ec)?\s*\Z")
_RATE_UNIT = re.compile(r"(?:tok(?:en)?s?/s(?:ec)?|tps)\Z")
_LABEL_LIMIT = 200
_LEVEL = re.compile(r"(?i)\A(?:c|conc(?:urrency)?|bs|并发)?\s*[=:@]?\s*([0-9]{1,6})\Z")
_STATES = (
    ("oom", re.compile(r"(?i)\boom\b|out of memory|显存不足|爆显存")),
    ("timeout", re.compile(r"(?i)time[- ]?out|超时")),
    ("failed", re.compile(r"(?i)fail|error|crash|\bx\b|失败|报错|崩溃")),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell says: a number with status 'ok' and the unit beside it, or why there is none."""

    value: float | None
    status: str
    unit: str = ""


def read_cell(text: str) -> Cell:
    """Read '96.8 (1.58x)', '**124.0**', '4.1k', '50 ms', 'OOM', '-'."""
    told = measure(text)
    if told is not None:
        return Cell(told[0], "ok", told[1])
    for status, pattern in _STATES:
        if pattern.search(text):
            return Cell(None, status)
    return Cell(None, "not measured")


def arm_steps(label: str) -> int | None:
    """Give the number of speculative steps an arm's label names; 'off' is 0."""
    label = bare_label(label)
    if _OFF.match(label):
        return 0
    exact = (
        pattern.match(label) if index == len(_STEPS) - 1 else pattern.search(label)
        for index, pattern in enumerate(_STEPS)
    )
    match = next((each for each in exact if each), None)
    return int(match[1]) if match else None


def bare_label(label: str) -> str:
    """Give an arm's label without emphasis and without the unit behind it."""
    bare = _IN_BRACKETS.sub("", re.sub(r"[*`]", "", label[:_LABEL_LIMIT]))
    return _UNIT_BEHIND.sub("", bare).strip()


def is_grid(cells: Sequence[str]) -> bool:
    """Tell the header of such a table: the concurrency first, then arms that name their steps."""
    first = read_heading(cells[0])
    arms = [cell for cell in cells[1:] if not is_beside(cell)]
    level_first = first is not None and first.key == "concurrency"
    return level_first and len(arms) > 1 and all(arm_steps(cell) is not None for cell in arms)


def is_beside(label: str) -> bool:
    """Whether a column tells of the others: 'Speedup', '提升'."""
    return _BESIDE.search(label) is not None


def level(label: str) -> int | None:
    """Give the concurrency that a heading such as '8', 'c=8' or '并发8' names."""
    match = _LEVEL.match(re.sub(r"[*`]", "", label).strip())
    return count(match[1]) if match else None


def caption_metric(caption: str) -> Column | None:
    """Give the metric that a caption names for the whole table, in the first words of it."""
    for part in re.split(r"[,，;；。.:：]\s|\n", caption):
        found = read_heading(part.strip(" #*:："))
        if found and found.unit and found.key not in ("index", "arm", "concurrency", "duration_s"):
            return found
    return None


def _heading_metric(label: str) -> Column | None:
    """Give the metric named in brackets behind an arm: 'Baseline (tok/s)'."""
    match = _IN_BRACKETS.search(label[:_LABEL_LIMIT])
    behind = _UNIT_BEHIND.search(label[:_LABEL_LIMIT])
    words = match[1] if match else behind[0] if behind else ""
    found = read_heading(words) if words else None
    return found if found and found.unit == "tok/s" else None


def _cell_metric(cell: Cell) -> Column | None:
    """Where nothing else names the metric, tokens a second in a cell are the output's."""
    return read_heading(cell.unit) if _RATE_UNIT.match(cell.unit) else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is needed to read the cells: the caption's metric and the settings around."""

    tool: str
    caption: str
    settings: Mapping[str, JSON]

    def row(self, concurrency: int | None, label: str, cell_text: str, place: Place) -> RowBuilder:
        """Make the row of one cell: one arm at one concurrency."""
        cell = read_cell(cell_text)
        builder = RowBuilder(
            self.tool, place, name=clean_text(bare_label(label), 120), concurrency=concurrency
        )
        builder.context = {**self.settings, "status": cell.status}
        builder.tell(spec_num_steps=arm_steps(label))
        metric = caption_metric(self.caption) or _heading_metric(label) or _cell_metric(cell)
        if metric is None:
            builder.keep(clean_text(label, 120), cell.value)
        elif cell.value is not None:
            unit = metric.unit or told_unit(self.caption)
            if is_time(metric.key) and cell.unit in TIME_UNITS:
                unit = cell.unit
            native = self.caption.splitlines()[0] if self.caption else label
            builder.put(metric.key, cell.value, clean_text(native, 120), unit)
        if cell.status == "ok" and leading_number(cell_text.rstrip("* ")) is not None:
            rest = cell_text.strip("* ")
            if not rest.replace(",", "").replace(".", "").isdigit():
                builder.keep("cell", cell_text)
        return builder


_COUNT = r"([0-9.]{1,8}k?)"
_REAL = r"([0-9]{1,2}(?:\.[0-9]{1,3})?)"


def _said(english: str, chinese: str, value: str) -> re.Pattern[str]:
    return re.compile(rf"(?i)\b(?:{english})\s*[=:]?\s*{value}\b|(?:{chinese})\s*[=:：]?\s*{value}")


_CAPTION = (
    ("input_len", _said(r"isl|input(?: len(?:gth)?)?", "输入(?:长度)?", _COUNT)),
    ("output_len", _said(r"osl|output(?: len(?:gth)?)?", "输出(?:长度)?", _COUNT)),
    ("temperature", _said(r"temp(?:erature)?", "温度", _REAL)),
    ("seed", _said("seed", "种子", "([0-9]{1,9})")),
    (
        "repeats",
        re.compile(
            r"(?i)\b([0-9]{1,3}) (?:repeats|repetitions|runs)\b|"
            r"(?:重复|各跑)\s*([0-9]{1,3})\s*(?:次|遍)"
        ),
    ),
)
# '2048 in / 256 out', 'ISL/OSL: 1k/512'.
_IN_OUT = (
    re.compile(
        rf"(?i)\b{_COUNT} ?(?:tokens? )?in(?:put)?(?: tokens)?\s?[/,+]\s?"
        rf"{_COUNT} ?(?:tokens? )?out(?:put)?\b"
    ),
    re.compile(rf"(?i)\bisl\s?/\s?osl\s?[=:]?\s?{_COUNT}\s?/\s?{_COUNT}(?![\w.])"),
)
_ACCEPT = re.compile(r"(?i)accept(?:ance)?[ _-]?len(?:gth)?|接受长度")
_ACCEPT_PAIR = re.compile(
    r"(?i)(?:steps?\s*[=:]?\s*|步数\s*[=:：]?\s*)([0-9]{1,2})\s*[:：=]?\s+"
    r"([0-9]{1,2}(?:\.[0-9]{1,4})?)(?![0-9.])(?=[\s,;，；/]|\Z)"
)


def caption_settings(text: str) -> dict[str, JSON]:
    """Read settings out of a caption: 'ISL 1k / OSL 1k, temperature 0.6, 3 repeats (median)'."""
    found: dict[str, JSON] = {}
    lengths = next((match for match in (each.search(text) for each in _IN_OUT) if match), None)
    told_lengths = lengths.groups() if lengths else ()
    for word, told in zip(("input_len", "output_len"), told_lengths, strict=False):
        value = _with_k(told)
        if value is not None:
            found[word] = int(value)
    for word, pattern in _CAPTION:
        if word in found:
            continue
        match = pattern.search(text)
        if match:
            value = _with_k(match[1] or match[2])
            if value is not None:
                found[word] = value if word == "temperature" else int(value)
    statistic = told_statistic(text)
    if found and statistic:
        found["statistic"] = {"p50": "median"}.get(statistic, statistic)
    return found


def accept_lens(text: str) -> dict[str, JSON]:
    """Read 'accept len: steps=1 1.82, steps=2 2.41' below a table."""
    if not _ACCEPT.search(text):
        return {}
    pairs = {steps: float(value) for steps, value in _ACCEPT_PAIR.findall(text)}
    return {"accept_len_by_steps": dict(pairs)} if pairs else {}


def _with_k(text: str) -> float | None:
    text = text.strip().lower()
    value = leading_number(text.removesuffix("k"))
    return None if value is None else value * (1000 if text.endswith("k") else 1)
