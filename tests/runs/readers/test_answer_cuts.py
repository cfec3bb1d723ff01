"""A text cut at any byte: nothing of the whole answer is invented, whatever kind of text it is.

`test_cuts.py` holds the records of logs to it; here are results, settings and events, too, for
every format that is registered, and for files of real tools and real servers.
"""

import functools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.engines.base import JSON
from runs.readers import Reading, read
from runs.readers.results.registry import FORMATS, find_format
from tests.runs.readers.test_variants import CARRIERS

TESTS = Path(__file__).parents[2]
FOLDERS = ("field_cases", "cases/variants", "cases/results/own", "cases/results/files")
MOST = 60_000
PIECE = 12_000


def texts() -> Iterator[bytes]:
    for folder in FOLDERS:
        for path in sorted((TESTS / folder).iterdir()):
            if not path.name.endswith(".expect.json") and path.suffix != ".py":
                yield path.read_bytes()[:MOST]
    for path in sorted((TESTS / "cases" / "real_logs").glob("*.log*")):
        data = path.read_bytes()
        for at in range(0, len(data), 4 * PIECE):
            yield data[at : at + PIECE]


TEXTS = [text for text in texts() if text]
SHORT = [text for text in TEXTS if len(text) < 6000 and text.endswith(b"\n")]


@functools.cache
def whole(text: bytes) -> Reading:
    return read(text, "x")


def leaves(value: JSON, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], JSON]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, (*path, key))
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def measured(found: Reading) -> set[tuple[object, ...]]:
    """Every number that the text states, with where it stands."""
    told: set[tuple[object, ...]] = set()
    for sample in found.samples:
        values = {name: getattr(sample, name) for name in sample.__slots__}
        del values["line"], values["offset"]
        values["extras"] = {k: v for k, v in sample.extras.items() if k not in COUNTED}
        told |= {(sample.offset, *each) for each in leaves(values)}
    for request in found.requests:
        told |= {(request.offset, *each) for each in leaves(dict(request.values))}
    for event in found.events:
        told |= {(event.offset, *each) for each in leaves(event.data)}
    return told


COUNTED = ("segment", "accept_rate_strict", "unread")


def metrics(found: Reading) -> set[tuple[object, ...]]:
    """Values of results without their row's tool and name: a cut can come before either is told."""
    told: set[tuple[object, ...]] = set()
    for row in found.results:
        told |= {(key, metric.value) for key, metric in row.metrics.items()}
        told |= {("measured", row.concurrency_measured), ("concurrency", row.concurrency)}
    return told - {("measured", None), ("concurrency", None)}


def stated(found: Reading) -> set[tuple[object, ...]]:
    """The numbers among the settings, of the text and of its rows."""
    told = {(path[-1:], value) for path, value in leaves(found.context)}
    for row in found.results:
        told |= {(path[-1:], value) for path, value in leaves(row.context)}
    return {each for each in told if each[0] not in {(name,) for name in COMPUTED}}


COMPUTED = ("accept_len_run", "graph_max_bs", "progress", "attempt", "pids", "earlier")


def check(text: bytes, cut: int, *, places: bool = True) -> None:
    start, end = text.rfind(b"\n", 0, cut) + 1, text.find(b"\n", cut)
    until = text if end < 0 else text[: end + 1]
    found, line = read(text[:cut], "x"), read(until, "x")
    found_values, line_values = measured(found), measured(line)
    if not places:  # a cut JSON object is a plain line: its values stand elsewhere in it
        found_values = {each[1:] for each in found_values}
        line_values = {each[1:] for each in line_values}
    assert found_values - line_values == set()
    before = read(text[:start], "x")
    known = metrics(line) | metrics(before)
    assert metrics(found) - known == set() or metrics(found) - metrics(whole(text)) == set()
    settled = stated(line) | stated(before) | stated(whole(text))
    assert stated(found) - settled == set()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(TEXTS) - 1), st.integers(0, MOST))
def test_an_answer_to_a_cut_text_invents_nothing(number: int, cut: int) -> None:
    text = TEXTS[number]
    check(text, cut % (len(text) + 1))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(SHORT) - 1), st.sampled_from(sorted(CARRIERS)), st.integers(0, MOST))
def test_nor_does_one_inside_of_a_carrier(number: int, carrier: str, cut: int) -> None:
    carried = CARRIERS[carrier](SHORT[number])
    check(carried, cut % (len(carried) + 1), places="json" not in carrier)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(TEXTS) - 1), st.integers(0, MOST), st.binary(max_size=6))
def test_bytes_put_into_any_text_never_raise(number: int, at: int, put: bytes) -> None:
    text = TEXTS[number]
    at %= len(text)
    json.dumps(read(text[:at] + put + text[at:], "x").as_json(), allow_nan=False)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda each: each.name)
def test_every_registered_format_has_a_text_here(format_: object) -> None:
    assert any(find_format(text) is format_ for text in TEXTS)
