"""The quick way through a log: shapes of batch lines, learnt from lines that were read slowly.

A server prints the same labels in the same order all its life. The first line is read label by
label; its labels become a pattern that accepts exactly what the slow reader accepts for them, and
the lines that follow are read by that pattern alone. A line that differs in anything goes the slow
way, so nothing is ever read differently, only sooner.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from runs.engines.base import JSON, Phase, Sample
from runs.engines.sglang.labels import LABELS

_STAMP = (
    r"\[([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?)"
    r"((?: [A-Z_]{1,20}[0-9]{1,6}){0,12})\] "
)
_HEAD = r"(Decode|Prefill) batch(?: \[([0-9]{1,18})\])?[.,] "
# What the slow reader believes without a delimiter behind it: two decimals, or a whole number.
_FORMS = {
    "int": r"(-?[0-9]{1,18})",
    "float": r"(-?[0-9]{1,18}\.[0-9]{2})",
    "percent": r"(-?[0-9]{1,18}\.[0-9]{2})%",
    "graph": r"(True|False)",
}
_GRAPH = re.compile(r"[a-z]{1,16} graph")
# Servers of several ranks, decode and prefill, with and without optional fields.
_KEPT = 8
_FIELDS = (
    "running",
    "waiting",
    "tokens",
    "token_usage",
    "accept_len",
    "accept_rate",
    "graph",
    "graph_label",
    "output_tps",
    "input_tps",
    "new_seq",
    "new_tokens",
    "cached_tokens",
    "pending_tokens",
)


def _percent(text: str) -> float:
    return round(float(text) / 100, 10)


def _truth(text: str) -> bool:
    return text == "True"


_CONVERT: dict[str, Callable[[str], JSON]] = {
    "int": int,
    "float": float,
    "percent": _percent,
    "graph": _truth,
}


@dataclass(frozen=True, slots=True)
class _Shape:
    """`fill` picks the value of each field of a sample, in order, out of those printed."""

    pattern: re.Pattern[str]
    convert: tuple[Callable[[str], JSON], ...]
    fill: Callable[[list[JSON]], tuple[JSON, ...]]
    extras: tuple[tuple[str, int], ...]
    graph_label: str | None


class Shapes:
    """The shapes of one log, the last one used first."""

    def __init__(self) -> None:
        self._known: list[_Shape] = []
        self._refused: set[tuple[str, ...]] = set()

    def read(self, text: str, offset: int, line: int) -> Sample | None:
        """Read a whole, terminated line of a known shape; None sends it the slow way."""
        for index, shape in enumerate(self._known):
            match = shape.pattern.fullmatch(text)
            if match is not None:
                if index:
                    self._known.insert(0, self._known.pop(index))
                return _sample(shape, match.groups(), offset, line)
        return None

    def learn(self, text: str, sample: Sample) -> None:
        """Make a shape of a line that was read whole, if its labels allow it."""
        head = _HEAD_AT.match(text)
        if head is None:
            return
        body = text[head.end() :]
        labels = tuple(piece.partition(": ")[0] for piece in body.rstrip(" ,").split(", "))
        if labels in self._refused:
            return
        shape = _shape(labels, body[len(body.rstrip(" ,")) :])
        match = shape.pattern.fullmatch(text) if shape is not None else None
        if shape is None or match is None:
            self._refused = {labels} if len(self._refused) > 100 else self._refused | {labels}
            return
        if _sample(shape, match.groups(), sample.offset, sample.line) == sample:
            self._known = [shape, *self._known[: _KEPT - 1]]


_HEAD_AT = re.compile(_STAMP + _HEAD)


def _shape(labels: Sequence[str], tail: str) -> _Shape | None:
    if "#queue-req" not in labels or len(set(labels)) != len(labels):
        return None
    patterns, convert, names = [], [], []
    graph_label = None
    for label in labels:
        known = LABELS.get(label)
        if known is not None:
            form, name = known.form, known.field
        elif _GRAPH.fullmatch(label) and graph_label is None:
            form, name, graph_label = "graph", "graph", label
        else:
            return None
        patterns.append(f"{re.escape(label)}: {_FORMS[form]}")
        convert.append(_CONVERT[form])
        names.append(name)
    pattern = re.compile(f"{_STAMP}{_HEAD}{', '.join(patterns)}{re.escape(tail)}")
    places = {name: place for place, name in enumerate(names)}
    places["graph_label"] = -2  # put behind the values, before the None of what is not printed
    places.setdefault("tokens", places.get("full_token", -1))
    places.setdefault("token_usage", places.get("full_token_usage", -1))
    extras = tuple((name, place) for place, name in enumerate(names) if name not in _FIELDS)
    return _Shape(
        pattern=pattern,
        convert=tuple(convert),
        fill=itemgetter(*(places.get(name, -1) for name in _FIELDS)),
        extras=extras,
        graph_label=graph_label,
    )


def _sample(shape: _Shape, groups: tuple[str, ...], offset: int, line: int) -> Sample:
    day, clock, rank, phase, iteration = groups[:5]
    values: list[JSON] = [
        convert(text) for convert, text in zip(shape.convert, groups[5:], strict=True)
    ]
    extras = {name: values[place] for name, place in shape.extras}
    if iteration:
        extras["iteration"] = int(iteration)
    values.append(shape.graph_label)
    values.append(None)
    filled = shape.fill(values)
    printed = f"{day}T{clock}"
    batch: Phase = "decode" if phase == "Decode" else "prefill"
    # Each place holds a value of its field's form: the pattern saw to it.
    return Sample(batch, printed, rank[1:] or None, *filled, extras, offset, line)  # type: ignore[arg-type, call-arg]
