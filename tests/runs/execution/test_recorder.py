"""Exactly once: bytes, records and position move together, or not at all."""

from __future__ import annotations

import hashlib

import pytest
from django.db import OperationalError

from runs.actions.store_records import epoch, store_engine_records
from runs.engines.sglang.log import LogReader
from runs.execution import findings
from runs.execution.endings import Failed
from runs.execution.recorder import Overtaken, Recorder
from runs.models import LogChunk, LogStream, Run, Sample
from tests.runs.execution.test_ledger import acquire

LINE = (
    "[2026-11-29 16:37:{:02}] Decode batch, #running-req: 4, #token: 568, token usage: 0.01, "
    "accept len: 3.02, accept rate: 0.67, cuda graph: True, "
    "gen throughput (token/s): {}.42, #queue-req: 0\n"
)


@pytest.fixture
def stream(run: Run) -> LogStream:
    acquire(run)
    attempt = run.attempts.get()
    attempt.facts = {"utc_offset_s": 0}
    attempt.save()
    return LogStream.objects.select_related("attempt__run").get(attempt=attempt, role="server")


def reader(offset: int, line: int) -> LogReader:
    return LogReader(offset=offset, line=line + 1)


def recorder(stream: LogStream) -> Recorder:
    fresh = LogStream.objects.select_related("attempt__run").get(pk=stream.pk)
    return Recorder(fresh, reader, store_engine_records)


def log(n: int) -> bytes:
    return "".join(LINE.format(i % 60, 100 + i) for i in range(n)).encode()


def test_it_stores_whole_lines_with_their_samples_and_position(stream: LogStream) -> None:
    writer = recorder(stream)
    data = log(3)
    writer.feed(data[:-20])
    writer.flush()
    assert Sample.objects.count() == 2
    assert writer.position == len(log(2))
    writer.feed(data[-20:])
    writer.flush(final=True)
    stream.refresh_from_db()
    assert stream.position == len(data)
    assert stream.text() == data
    assert stream.sha256 == hashlib.sha256(data).hexdigest()
    assert list(Sample.objects.values_list("seq", flat=True)) == [1, 2, 3]
    assert [s.output_tps for s in Sample.objects.all()] == [100.42, 101.42, 102.42]


def test_another_recorder_goes_on_where_the_first_one_stopped(stream: LogStream) -> None:
    data = log(5)
    first = recorder(stream)
    first.feed(data[: len(log(2)) + 30])
    first.flush()
    second = recorder(stream)
    second.feed(data[second.position :])
    second.flush(final=True)
    assert list(Sample.objects.values_list("seq", "line")) == [(i, i) for i in range(1, 6)]
    stream.refresh_from_db()
    assert stream.text() == data
    cut = len(log(2))
    assert stream.hashed == [
        [0, cut, hashlib.sha256(data[:cut]).hexdigest()],
        [cut, len(data), hashlib.sha256(data[cut:]).hexdigest()],
    ]
    assert stream.sha256 == ""  # nobody here saw the whole file


def test_a_commit_that_fails_leaves_no_trace_in_the_hash(stream: LogStream) -> None:
    def broken(*_: object) -> None:
        raise OperationalError("database is locked")

    writer = recorder(stream)
    writer.feed(log(2))
    writer._store = broken
    with pytest.raises(OperationalError):
        writer.flush()
    writer._store = store_engine_records
    writer.rewind()
    writer.feed(log(2))
    writer.flush()
    stream.refresh_from_db()
    assert stream.sha256 == hashlib.sha256(log(2)).hexdigest()


def test_the_nodes_hashes_prove_every_range_and_a_flipped_byte_is_found(stream: LogStream) -> None:
    data = log(5)
    for end in (2, 4, 5):
        writer = recorder(stream)
        writer.feed(data[writer.position : len(log(end))])
        writer.flush(final=True)
    stream.refresh_from_db()
    asked = findings.digest_request(stream.attempt, "server")["ranges"]
    assert [end - start for start, end in asked] == [len(log(n)) for n in (2, 2, 1)]
    damaged = data[:300].replace(b"Decode", b"decode") + data[300:]
    for there in (damaged, data):
        digest = {
            "size": len(there),
            "sha256": hashlib.sha256(there).hexdigest(),
            "ranges": [hashlib.sha256(there[start:end]).hexdigest() for start, end in asked],
        }
        if there is damaged:
            with pytest.raises(Failed, match=f"the hashes of bytes 0-{len(log(2))} differ"):
                findings._prove_whole(stream, digest)
            assert not stream.complete
    findings._prove_whole(stream, digest)
    stream.refresh_from_db()
    assert stream.complete
    assert stream.sha256 == hashlib.sha256(data).hexdigest()


def test_of_two_recorders_of_the_same_bytes_one_is_refused(stream: LogStream) -> None:
    first, second = recorder(stream), recorder(stream)
    for writer in (first, second):
        writer.feed(log(2))
    first.flush()
    with pytest.raises(Overtaken):
        second.flush()
    assert Sample.objects.count() == 2
    assert LogChunk.objects.count() == 1


def test_what_was_not_stored_is_read_again_after_a_lost_link(stream: LogStream) -> None:
    writer = recorder(stream)
    data = log(3)
    writer.feed(data[:-30])
    writer.flush()
    writer.rewind()
    writer.feed(data[writer.position :])
    writer.flush(final=True)
    assert Sample.objects.count() == 3
    stream.refresh_from_db()
    assert stream.text() == data


def test_secrets_are_covered_at_the_same_length_and_counted(stream: LogStream) -> None:
    writer = recorder(stream)
    data = b"server_args={'model_path': '/m', 'api_key': 'sk-abcdef1234567890'}\n" + log(1)
    writer.feed(data)
    writer.flush(final=True)
    stream.refresh_from_db()
    stored = stream.text()
    assert len(stored) == len(data)
    assert b"abcdef1234567890" not in stored
    assert stream.redacted == 1
    assert stream.sha256 == hashlib.sha256(data).hexdigest()


def test_a_huge_line_is_stored_in_pieces(stream: LogStream) -> None:
    writer = recorder(stream)
    data = b"x" * (LogChunk.LIMIT * 2 + 10) + b"\n" + log(1)
    writer.feed(data)
    writer.flush(final=True)
    stream.refresh_from_db()
    assert stream.text() == data
    assert stream.text(LogChunk.LIMIT - 5, LogChunk.LIMIT + 5) == b"x" * 10
    assert Sample.objects.count() == 1


@pytest.mark.parametrize(
    ("arrived", "expected"),
    [(None, 0.0), (0.4, 0.4), (1.5, 0.999), (7.0, 0.0), (-3.0, 0.0)],
)
def test_a_line_followed_live_is_placed_within_its_second(
    arrived: float | None, expected: float
) -> None:
    base = 1795970244.0  # 2026-11-29T16:37:24Z
    found = epoch("2026-11-29T16:37:24", 0, None if arrived is None else base + arrived)
    assert found == pytest.approx(base + expected)


def test_a_time_without_date_or_zone_is_not_known() -> None:
    assert epoch("16:37:24", 0, None) is None
    assert epoch("2026-11-29T16:37:24", None, None) is None
    assert epoch(None, 0, None) is None
