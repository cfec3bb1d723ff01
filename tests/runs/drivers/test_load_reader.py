import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.drivers.load_records import (
    LINE_LIMIT,
    Done,
    Fatal,
    Hello,
    LevelEnd,
    LevelStart,
    LoadReader,
    LoadRecord,
    Progress,
    Request,
)
from runs.engines.base import Damaged

WHOLE = (Path(__file__).parents[2] / "cases" / "probe" / "load.jsonl").read_bytes()


def read(data: bytes) -> list[LoadRecord]:
    reader = LoadReader()
    return reader.feed(data) + reader.finish()


def test_it_reads_every_record_typed() -> None:
    found = read(WHOLE)
    kinds = [Hello, LevelStart, Progress, Request, Request, LevelEnd, Done]
    assert [type(each) for each in found] == kinds
    assert found[0].levels == (1, 4)
    assert found[3].output_tokens == 64
    assert found[3].cached_tokens is None
    assert found[4].error == {"kind": "status", "message": "busy", "status": 503}
    assert (found[5].window_start, found[5].window_end) == (100.5, 102.0)
    assert found[5].summary == {"output_tps": 42.5}
    assert found[6].ok is True
    assert [each.line for each in found] == [1, 2, 3, 4, 5, 6, 7]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, len(WHOLE)), max_size=20))
def test_any_split_gives_the_same_records(cuts: list[int]) -> None:
    reader, found = LoadReader(), []
    for cut in sorted(cuts):
        found += reader.feed(WHOLE[reader.position : cut])
        reader = LoadReader.at(reader.state)
    assert found + reader.feed(WHOLE[reader.position :]) == read(WHOLE)


@pytest.mark.parametrize("cut", range(0, len(WHOLE), 7))
def test_a_cut_gives_the_records_before_it_and_at_most_one_damaged(cut: int) -> None:
    found = read(WHOLE[:cut])
    damaged = [each for each in found if isinstance(each, Damaged)]
    whole = [each for each in found if not isinstance(each, Damaged)]
    assert whole == read(WHOLE)[: len(whole)]
    assert len(damaged) <= 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON"),
        (b"\xff\x00", "not JSON"),
        (b"[1]", "not an object"),
        (b"[" * 100_000, "not JSON"),
        (b'{"type":"done","ok":true}', "'t' is missing"),
        (b'{"type":"done","t":NaN,"ok":true}', "'t' is missing"),
        (b'{"type":"done","t":1e999,"ok":true}', "'t' is missing"),
        (b'{"type":"done","t":"1","ok":true}', "'t' is no number"),
        (b'{"type":"hello","t":1,"v":1,"levels":"x"}', "'levels' is no list of numbers"),
        (b'{"type":"request","level":0,"n":true,"send":1}', "'n' is no whole number"),
        (b'{"type":"level_end","t":1,"level":0,"concurrency":1}', "'window' is no object"),
        (b"x" * (LINE_LIMIT + 1), "line too long"),
    ],
)
def test_a_line_that_is_no_record_is_damaged_and_reading_goes_on(line: bytes, reason: str) -> None:
    found = read(
        line + b"\n" + json.dumps({"type": "fatal", "t": 1, "message": "no"}).encode() + b"\n"
    )
    assert found[0].reason == reason
    assert isinstance(found[1], Fatal)


def test_types_of_a_newer_driver_and_empty_lines_are_passed_over() -> None:
    assert read(b'{"type":"weather","t":1}\n\n') == []


def test_what_is_no_finite_number_is_unknown() -> None:
    line = b'{"type":"level_end","t":1,"level":0,"concurrency":1,"window":{"start":1,"end":2},'
    found = read(line + b'"summary":{"a":Infinity,"b":[1e999,2.5]}}\n')
    assert found[0].summary == {"a": None, "b": [None, 2.5]}
