"""Many samples at once: a model instance each would cost more than reading their lines.

PostgreSQL takes them by COPY, SQLite by one prepared statement.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import Model

from runs.caveats.text.paste import real
from runs.engines.base import JSON, Request
from runs.engines.base import Sample as Record
from runs.intake import storable
from runs.intake.windows import printed_seconds
from runs.models import Event, Sample

EVENT_NAMES = (
    *("attempt", "run", "kind", "at", "text", "data", "actor", "stream", "offset", "line"),
)
NAMES = (
    *("stream", "seq", "phase", "time", "printed_time", "rank", "running", "waiting", "tokens"),
    *("token_usage", "accept_len", "accept_rate", "graph", "output_tps", "input_tps", "new_seq"),
    *("new_tokens", "cached_tokens", "extras", "offset", "line"),
)
_ENCODE = json.JSONEncoder(allow_nan=False).encode  # made once: it is asked for every sample
_INTEGER = 2**31 - 1  # the largest whole number of most columns
Values = tuple[Any, ...]


def insert_samples(rows: Sequence[Values]) -> None:
    """Store rows of :data:`NAMES`, inside the caller's transaction."""
    _insert(Sample, NAMES, rows)


def insert_events(rows: Sequence[Values]) -> None:
    """Store rows of :data:`EVENT_NAMES`, inside the caller's transaction."""
    _insert(Event, EVENT_NAMES, rows)


def _insert(model: type[Model], names: Sequence[str], rows: Sequence[Values]) -> None:
    if not rows:
        return
    column = {field.name: field.column for field in model._meta.concrete_fields}
    columns = ", ".join(f'"{column[name]}"' for name in names)
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            return
        marks = ", ".join(["%s"] * len(names))
        cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)  # noqa: S608 - names of our own model


class SampleRows:
    """Records of one stream as rows, numbered from ``seq`` without a gap.

    Times are epoch seconds, of the printed clock unless the caller knows better (``at``). Two
    records of one line get places of their own, because a stream has one sample at each.
    """

    def __init__(self, stream: int, seq: int) -> None:
        self.stream, self.seq = stream, seq
        self._stamp: str | None = None
        self._time: float | None = None
        self._offset = -1
        self._near: set[int] = set()
        self._ranks: dict[str | None, str] = {}

    def row(self, record: Record) -> Values:
        if record.time != self._stamp:
            self._stamp, self._time = record.time, printed_seconds(record.time)
        return self.at(record, self._time)

    def at(self, record: Record, time: float | None) -> Values:
        """The row of a record whose epoch seconds are known, or known to be unknown."""
        extras = record.extras
        if record.pending_tokens is not None:
            extras = {**extras, "pending_tokens": record.pending_tokens}
        if record.graph_label not in (None, "cuda graph"):
            extras = {**extras, "graph_label": record.graph_label}
        # one comparison for four counts: a bit beyond the column stands out of the union
        counts = (record.running or 0) | (record.waiting or 0)
        if not 0 <= counts | (record.new_seq or 0) | (record.new_tokens or 0) <= _INTEGER:
            return self._beyond(record, time)
        seq, self.seq = self.seq, self.seq + 1
        return (
            self.stream,
            seq,
            record.phase,
            time,
            (record.time or "")[:30],
            self._ranks.get(record.rank) or self._rank(record.rank),
            record.running,
            record.waiting,
            record.tokens,
            record.token_usage,
            record.accept_len,
            record.accept_rate,
            record.graph,
            record.output_tps,
            record.input_tps,
            record.new_seq,
            record.new_tokens,
            _column(record.cached_tokens),
            as_json(extras) if extras else "{}",
            self._place(record.offset),
            record.line,
        )

    def _rank(self, rank: str | None) -> str:
        """A rank's text; a server has few, and nearly all lines have the same."""
        told = storable.text(rank or "", 60)
        if len(self._ranks) < 1000:
            self._ranks[rank] = told
        return told

    def _beyond(self, record: Record, time: float | None) -> Values:
        """Keep counts that no column can hold under their names, as words."""
        names = ("running", "waiting", "new_seq", "new_tokens")
        values = {name: getattr(record, name) for name in names}
        large = {k: str(v) for k, v in values.items() if v and not 0 <= v <= _INTEGER}
        held = {k: v for k, v in values.items() if k not in large}
        fields = {name: getattr(record, name) for name in Record.__dataclass_fields__}
        fields |= dict.fromkeys(names) | held
        return self.at(Record(**{**fields, "extras": {**record.extras, **large}}), time)

    def request(self, record: Request) -> Values:
        """A finished request of llama.cpp: its own speed, what else it said beside it."""
        values = record.values
        speed, rate = real(values.get("decode_tok_per_s")), real(values.get("accept_rate"))
        seq, self.seq = self.seq, self.seq + 1
        known: dict[str, Any] = {
            "stream": self.stream,
            "seq": seq,
            "phase": Sample.Phase.REQUEST,
            "time": printed_seconds(record.time),
            "printed_time": (record.time or "")[:30],
            "rank": "",
            "tokens": values.get("output_tokens"),
            "accept_len": real(values.get("accept_len")),
            "accept_rate": rate,
            "output_tps": speed,
            "extras": as_json(values),
            "offset": self._place(record.offset),
            "line": record.line,
        }
        return tuple(known.get(name) for name in NAMES)

    def _place(self, offset: int) -> int:
        """The record's offset, or the next free byte of its line."""
        if offset > self._offset:
            self._offset = offset
            return offset
        self._near.add(self._offset)
        while offset in self._near:
            offset += 1
        self._near.add(offset)
        self._offset = max(offset, self._offset)
        return offset


def as_json(extras: dict[str, JSON]) -> str:
    """Nearly always plain numbers; a text that is not is looked at sign by sign."""
    try:
        told = _ENCODE(extras)
    except (ValueError, RecursionError):
        told = "\\u"
    return told if "\\u" not in told else json.dumps(storable.mapping(extras))


def _column(number: int | None) -> int | None:
    return number if number is None or abs(number) <= _INTEGER else None
