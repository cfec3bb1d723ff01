"""Marks of a copied log become events, at their place, whatever else the line holds."""

from __future__ import annotations

import json

from hosts.nodekit import spool
from runs.engines import marks
from runs.engines.base import Event
from runs.engines.registry import ENGINES


def mark(**told: object) -> bytes:
    return marks.MARK + json.dumps(told).encode() + b"\n"


def test_the_node_and_we_write_it_alike() -> None:
    assert marks.MARK == spool.MARK


def test_marks_are_events_beside_those_of_the_engine() -> None:
    reader = marks.marked(ENGINES["sglang"].log_reader)(1000, 10)
    assert reader.feed(b"nothing\n") == []
    gap = mark(kind="gap", text="12 lines were suppressed; token=hf_abcdefghijklmnop", count=12)
    records = reader.feed(b"plain\n" + gap + b"plain\n")
    (event,) = [r for r in records if isinstance(r, Event)]
    assert (event.kind, event.data, event.line) == ("log-gap", {"count": 12}, 13)
    assert event.offset == 1000 + len(b"nothing\nplain\n")
    assert "hf_abcdefghijklmnop" not in event.text
    (event,) = reader.feed(mark(kind="restarted", text="again", by="systemd"))
    assert isinstance(event, Event)
    assert (event.kind, event.line, event.time) == ("server-restarted", 15, None)


def test_what_is_no_mark_is_left_alone() -> None:
    reader = marks.marked(ENGINES["sglang"].log_reader)(0, 0)
    assert not reader.feed(marks.MARK + b"{broken\n" + mark(kind="unheard", text="x"))
    assert not reader.feed(b"in a line: " + mark(kind="gap", text="x"))
    assert not reader.feed(marks.MARK + b'["kind"]\n')
