"""Results as a table: arm, concurrency, output tok/s per request and in all."""

import csv
import math
from collections.abc import Iterator

from runs.engines.base import Damaged
from runs.engines.redact import redact_text
from runs.readers.reading import Reading, Row

HEADER = ("arm", "concurrency", "per_request_tok_s", "aggregate_tok_s")
_MAX_CONCURRENCY = 1_000_000
_TEXT_LIMIT = 500


def is_results_csv(data: bytes) -> bool:
    """Tell by the first line."""
    first = data[:200].removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    return [each.strip() for each in first.decode("utf-8", "replace").split(",")] == [*HEADER]


def read_results_csv(data: bytes, name: str) -> Reading:
    """Read every row; an empty cell was not measured, a cell that is no number damages its row."""
    rows: list[Row] = []
    damaged: list[Damaged] = []
    for offset, line, text in _lines(data):
        if not text.strip():
            continue
        record = _row(text, offset, line)
        (rows if isinstance(record, Row) else damaged).append(record)  # type: ignore[arg-type]
    return Reading(
        name=name,
        kind="bench-result",
        samples=(),
        events=(),
        damaged=tuple(damaged),
        rows=tuple(rows),
        ignored_lines=0,
        caveats=(),
        context={},
        requests=(),
        results=(),
        segments=(),
        derived={},
    )


def _lines(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Give (byte offset, line number, text) of every line after the header."""
    offset = 0
    for number, raw in enumerate(data.split(b"\n"), start=1):
        if number > 1:
            yield (
                offset,
                number,
                raw.decode("utf-8", "replace").rstrip("\r").replace("\0", "\ufffd"),
            )
        offset += len(raw) + 1


def _row(text: str, offset: int, line: int) -> Row | Damaged:
    try:
        cells = next(csv.reader([text], strict=True))
        if len(cells) != len(HEADER):
            raise ValueError(f"{len(cells)} cells where the header has {len(HEADER)}")
        arm = cells[0].strip()
        if not arm:
            raise ValueError("no arm is named")
        return Row(arm, _count(cells[1]), _speed(cells[2]), _speed(cells[3]), offset, line)
    except (ValueError, csv.Error) as problem:
        return Damaged(str(problem), redact_text(text[:_TEXT_LIMIT]), offset, line)


def _count(cell: str) -> int | None:
    text = cell.strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or not 0 < int(text[:12]) <= _MAX_CONCURRENCY:
        raise ValueError(f"{text[:40]!r} is no concurrency")
    return int(text)


def _speed(cell: str) -> float | None:
    text = cell.strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text[:40]!r} is no number") from None
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{text[:40]!r} is no speed")
    return value
