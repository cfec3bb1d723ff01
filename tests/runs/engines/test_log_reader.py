"""The reader against chunks, cuts and rubbish."""

import itertools
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.engines.base import Damaged, Event, Record, Sample
from runs.engines.sglang.log import LINE_LIMIT, LogReader

CASES = Path(__file__).parents[2] / "cases" / "sglang_log"
# Every shape of line the cases hold, one after another.
WHOLE = b"".join(path.read_bytes().rstrip(b"\n") + b"\n" for path in sorted(CASES.glob("*.log")))
LINE = (
    b"[2026-05-09 20:35:27 DP0 TP0] Decode batch, #running-req: 12, #full token: 848, "
    b"full token usage: 0.01, mamba num: 3, mamba usage: 0.12, accept len: 3.52, "
    b"accept rate: 0.84, cuda graph: True, gen throughput (token/s): 71.44, #queue-req: 10\n"
)


def read(data: bytes) -> list[Record]:
    reader = LogReader()
    return reader.feed(data) + reader.finish()


def samples(data: bytes) -> dict[int, Sample]:
    return {each.offset: each for each in read(data) if isinstance(each, Sample)}


def fields(sample: Sample) -> dict[str, object]:
    plain = {name: getattr(sample, name) for name in Sample.__slots__ if name != "extras"}
    return plain | {key: value for key, value in sample.extras.items() if key != "unread"}


def assert_nothing_invented(whole: bytes, cut: bytes) -> None:
    """Every value of the cut input is the whole's value, or unknown."""
    truth = samples(whole)
    for offset, sample in samples(cut).items():
        wanted = fields(truth[offset])
        invented = {
            name: value
            for name, value in fields(sample).items()
            if value is not None and value != wanted.get(name)
        }
        assert invented == {}


@pytest.mark.parametrize("cut", range(len(LINE)))
def test_a_cut_at_any_byte_invents_no_value(cut: int) -> None:
    assert_nothing_invented(LINE, LINE[:cut])


def test_a_value_that_touches_the_end_is_unknown_until_its_line_ends() -> None:
    cut = LINE[: LINE.index(b", accept rate")] + b", accept rate: 0.84"
    (open_end,), (ended,), (followed,) = read(cut), read(cut + b"\n"), read(cut + b", ")
    assert open_end.accept_len == 3.52
    assert (open_end.accept_rate, ended.accept_rate, followed.accept_rate) == (None, 0.84, 0.84)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(WHOLE)))
def test_a_cut_anywhere_in_every_shape_invents_no_value(cut: int) -> None:
    begin = WHOLE.rfind(b"\n", 0, cut) + 1
    end = WHOLE.find(b"\n", cut) + 1 or len(WHOLE)
    assert_nothing_invented(WHOLE[begin:end], WHOLE[begin:cut])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, len(WHOLE)), max_size=40))
def test_any_split_gives_the_same_records(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(WHOLE)]
    reader, found = LogReader(), []
    for left, right in itertools.pairwise(edges):
        found += reader.feed(WHOLE[left:right])
        reader = LogReader.at(reader.state)
        assert reader.position == right
    assert found + reader.finish() == read(WHOLE)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=3000), st.integers(0, 3000))
def test_rubbish_never_raises_and_splits_alike(data: bytes, cut: int) -> None:
    reader = LogReader()
    found = reader.feed(data[:cut]) + reader.feed(data[cut:]) + reader.finish()
    assert found == read(data)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*LINE.split(b" "), b"\r", b"\n", b"\x00", b"\xff", b", "])))
def test_shuffled_words_never_raise(words: list[bytes]) -> None:
    for record in read(b" ".join(words)):
        assert isinstance(record, Sample | Event | Damaged)


def test_offsets_and_line_numbers_point_at_the_lines() -> None:
    found = read(WHOLE)
    starts = {0: 1}
    for number, position in enumerate(i for i, byte in enumerate(WHOLE) if byte == 10):
        starts[position + 1] = number + 2
    begins = sorted(starts)
    for record in found:
        assert WHOLE.rfind(b"\n", 0, record.offset) + 1 in begins
        assert starts[WHOLE.rfind(b"\n", 0, record.offset) + 1] == record.line


def test_a_line_of_ten_megabytes_is_one_damaged_record_in_bounded_memory() -> None:
    reader, found = LogReader(), []
    tracemalloc.start()
    for _ in range(160):
        found += reader.feed(b"x" * 65536)
    found += reader.feed(b"\n" + LINE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [type(each) for each in found] == [Damaged, Sample]
    assert found[0].reason == "line too long"
    assert found[1].offset == 160 * 65536 + 1
    assert found[1].line == 2
    assert peak < 20 * LINE_LIMIT


def test_time_grows_with_the_length_and_no_faster() -> None:
    def seconds(data: bytes) -> float:
        begin = time.process_time()
        read(data)
        return time.process_time() - begin

    nasty = (
        b"[2026-01-01 00:00:00" + b" TP0" * 4000 + b" Decode batch, #" + b"a: [, " * 4000 + b"\n"
    )
    small, large = seconds(nasty * 4), seconds(nasty * 16)
    assert large < 12 * small + 0.5


def test_a_reader_goes_on_inside_a_line_that_is_too_long() -> None:
    data = b"y" * (LINE_LIMIT + 500) + b"\n" + LINE
    first = LogReader()
    assert first.feed(data[: LINE_LIMIT + 100]) == []
    again = LogReader.at(first.state)
    assert again.feed(data[again.position :]) == read(data)
