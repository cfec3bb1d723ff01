"""Whatever comes, nothing raises; and a text cut at any byte gives no value the whole does not."""

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.engines.base import Request, Sample
from runs.readers import read
from runs.readers.carriers import Carriers
from runs.readers.stream import TextReader, Told, read_stream

TESTS = Path(__file__).parents[2]
CASES = sorted(
    path
    for path in (TESTS / "field_cases").iterdir()
    if path.suffix in (".log", ".txt") and "json" not in path.name
)
SAMPLES = [
    (TESTS / "cases" / "samples" / f"{name}_log_samples.txt").read_bytes()
    for name in ("sglang", "vllm")
]
TEXTS = [path.read_bytes() for path in CASES]
LINES = [line + b"\n" for text in [*TEXTS, *SAMPLES] for line in text.split(b"\n") if line]
# What depends on the text as a whole, and text that was not understood.
OPEN = ("segment", "unread", "source")


def told(data: bytes) -> dict[tuple[int, str], dict[str, object]]:
    """Every sample and request of the text by where it begins."""
    found: dict[tuple[int, str], dict[str, object]] = {}
    for each in read_stream([data]):
        record = each.record
        if isinstance(record, Sample):
            plain = {name: getattr(record, name) for name in Sample.__slots__ if name != "extras"}
            extras = {key: value for key, value in record.extras.items() if key not in OPEN}
            found[record.offset, record.phase] = {**extras, **plain}
        elif isinstance(record, Request):
            found[record.offset, "request"] = dict(record.values)
    return found


def assert_nothing_invented(whole: bytes, cut: bytes) -> None:
    truth = told(whole)
    for key, values in told(cut).items():
        wanted = truth[key]
        invented = {
            name: (value, wanted.get(name))
            for name, value in values.items()
            if value is not None and value != wanted.get(name)
        }
        assert invented == {}, key


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(TEXTS), st.integers(0, 100_000))
def test_a_field_case_cut_at_any_byte_invents_nothing(text: bytes, cut: int) -> None:
    assert_nothing_invented(text, text[: cut % (len(text) + 1)])


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(LINES), st.integers(0, 5000))
def test_a_line_cut_at_any_byte_invents_nothing(line: bytes, cut: int) -> None:
    assert_nothing_invented(line, line[: cut % (len(line) + 1)])


@pytest.mark.parametrize(
    "line",
    [
        next(each for each in LINES if b"SpecDecoding" in each),
        next(each for each in LINES if b"Preemptions" in each),
        next(each for each in LINES if b"draft acceptance" in each),
        next(each for each in LINES if b"host_step_time" in each),
        next(each for each in LINES if b"Iteration(" in each),
        next(each for each in LINES if b"Reqs Running" in each),
    ],
    ids=lambda line: line[:30].decode("utf-8", "replace"),
)
def test_every_cut_of_these_lines(line: bytes) -> None:
    for cut in range(len(line)):
        assert_nothing_invented(line, line[:cut])


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([*TEXTS, *SAMPLES]), st.lists(st.integers(0, 60_000), max_size=12))
def test_any_split_gives_the_same_records(text: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    reader = TextReader(None)
    found: list[Told] = []
    for left, right in itertools.pairwise(edges):
        found += reader.feed(text[left:right])
    assert found + reader.finish() == list(read_stream([text]))


WORDS = [
    *(word for line in LINES[::7] for word in line.split(b" ")[:12]),
    b"\n", b"\r", b"\x00", b"\xff", b"\x1b[3", b"\x1b]8;;", b"{", b'{"MESSAGE": [', b"| ", b"> ",
    b"&gt;", b"==> a <==\n", b"#", b"1e400", b"NaN", b"Infinity", b"\xe2\x80\xae", b"\xed\xa0\x80",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*WORDS, *LINES[::11]]), max_size=60))
def test_shuffled_words_never_raise_and_every_answer_is_json(words: list[bytes]) -> None:
    json.dumps(read(b" ".join(words), "x").as_json(), allow_nan=False)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=2000))
def test_rubbish_never_raises(data: bytes) -> None:
    json.dumps(read(data, "x").as_json(), allow_nan=False)
    Carriers().unwrap(data)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(LINES), st.integers(0, 300), st.binary(max_size=4))
def test_a_line_with_bytes_put_into_it_never_raises(line: bytes, at: int, put: bytes) -> None:
    at %= len(line)
    json.dumps(read(line[:at] + put + line[at:], "x").as_json(), allow_nan=False)
