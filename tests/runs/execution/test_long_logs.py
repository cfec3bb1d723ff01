"""Logs that are longer than anybody keeps: what is given up, what stays, and what is said of it."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from django.test import Client

from runs.execution import findings
from runs.execution.endings import Failed
from runs.models import Event, LogChunk, LogStream, Sample
from tests.runs.execution.test_recorder import log, recorder, stream
from tests.signed_in import member, text

__all__ = ["member", "stream"]

LIMIT = 16 * 1024


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LogStream, "TEXT_LIMIT", LIMIT)
    monkeypatch.setattr(LogChunk, "LIMIT", 1024)


def read(stream: LogStream, data: bytes) -> None:
    writer = recorder(stream)
    for at in range(0, len(data), 700):
        writer.feed(data[at : at + 700])
        writer.flush()
    writer.flush(final=True)
    stream.refresh_from_db()


def test_f70_of_a_very_long_log_the_middle_of_the_text_is_given_up(
    stream: LogStream, short: None, member: Client
) -> None:
    data = log(400)
    assert len(data) > 3 * LIMIT
    read(stream, data)
    start, end = stream.dropped
    assert LIMIT / 2 <= start < end <= len(data) - LIMIT / 2
    assert sum(stream.chunks.values_list("length", flat=True)) < 1.3 * LIMIT
    assert stream.text() == data[:start] + b" " * (end - start) + data[end:]
    assert stream.text(start - 5, start + 5) == data[start - 5 : start] + b" " * 5
    assert stream.text(end - 5, end + 5) == b" " * 5 + data[end : end + 5]
    assert stream.text(start + 7, end - 7) == b" " * (end - start - 14)
    assert Sample.objects.filter(stream=stream).count() == 400
    assert (stream.position, stream.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert Event.objects.filter(kind="text-dropped").count() == 1

    run = stream.attempt.run
    assert "of its text the first and the last" in text(member.get(run.get_absolute_url()))
    sent = member.get(f"/runs/{run.pk}/log/?role=server")
    whole = b"".join(sent.streaming_content)  # type: ignore[attr-defined]
    notice = f"\n[throughline] {end - start} bytes are not kept here\n".encode()
    assert whole == data[:start] + notice + data[end:]


def test_a_log_within_the_limit_keeps_all_of_its_text(stream: LogStream, short: None) -> None:
    data = log(80)
    assert LIMIT * 0.7 < len(data) < LIMIT
    read(stream, data)
    assert stream.dropped is None and stream.text() == data
    assert not Event.objects.filter(kind="text-dropped").exists()


def digest_of(data: bytes, ranges: list[Any], gap: tuple[int, int]) -> dict[str, Any]:
    """As the node answers once it has dropped the bytes of the gap."""
    known = [
        None if start < gap[1] and gap[0] < end else hashlib.sha256(data[start:end]).hexdigest()
        for start, end in ranges
    ]
    whole = hashlib.sha256(data).hexdigest()
    return {"size": len(data), "sha256": whole, "ranges": known, "dropped": list(gap)}


def test_f70_a_log_that_the_node_has_cut_is_proven_by_the_hash_of_what_was_written(
    stream: LogStream,
) -> None:
    data = log(20)
    read(stream, data)
    asked = findings.digest_request(stream.attempt, "server")["ranges"]
    for _ in range(2):  # told again after a take-over
        findings._prove_whole(stream, digest_of(data, asked, (500, 900)))
    stream.refresh_from_db()
    assert stream.complete and stream.sha256 == hashlib.sha256(data).hexdigest()
    told = Event.objects.get(kind="log-capped").text
    assert "dropped 400 bytes of its middle. They were read before that" in told


def test_f70_what_two_readers_read_of_a_cut_log_is_not_called_whole(stream: LogStream) -> None:
    data = log(20)
    for upto in (10, 20):
        writer = recorder(stream)
        writer.feed(data[writer.position : len(log(upto))])
        writer.flush(final=True)
    stream.refresh_from_db()
    asked = findings.digest_request(stream.attempt, "server")["ranges"]
    cut = digest_of(data, asked, (500, 900))
    findings._prove_whole(stream, cut)
    assert not stream.complete
    assert "cannot be proven" in Event.objects.get(kind="log-capped").text
    cut["ranges"][1] = "0" * 64  # what can be asked for still has to be equal
    with pytest.raises(Failed, match="differ"):
        findings._prove_whole(stream, cut)
