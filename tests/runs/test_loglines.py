"""A stored log as lines for people."""

from __future__ import annotations

import pytest
from django.utils import timezone

from runs.loglines import log_part, readable
from runs.models import Event, LogChunk, LogStream
from tests.factories import make_arm, make_attempt, make_campaign, make_run, make_stream

pytestmark = pytest.mark.django_db


def stored(*lines: bytes) -> LogStream:
    stream = make_stream(make_attempt(make_run(make_arm(make_campaign()))))
    data = b"".join(lines)
    LogChunk.of(stream, 0, data).save()
    stream.position = len(data)
    stream.save()
    return stream


def test_it_takes_clock_and_rank_out_of_the_bracket() -> None:
    stream = stored(b"[2026-11-29 13:00:01 TP0] Decode batch\n", b"plain words\n")
    first, second = log_part(stream, 0).lines
    assert (first.clock, first.rank, first.text) == ("13:00:01", "TP0", "Decode batch")
    assert (second.clock, second.text, second.offset) == ("", "plain words", first.offset + 39)


def test_it_shows_only_what_lies_behind_the_position() -> None:
    stream = stored(b"one\n", b"two\n")
    part = log_part(stream, 4)
    assert [line.text for line in part.lines] == ["two"]
    assert (part.start, part.end, part.skipped) == (4, 8, 0)


def test_it_says_how_many_bytes_it_left_out_and_begins_with_a_whole_line() -> None:
    stream = stored(*(b"line %03d\n" % n for n in range(100)))
    part = log_part(stream, 0, limit=95)
    assert part.lines[0].text.startswith("line ")
    assert part.skipped == part.start == 900 - sum(len(line.text) + 1 for line in part.lines)


def test_a_damaged_line_is_marked_with_its_reason() -> None:
    stream = stored(b"fine\n", b"Decode batch, #runn\n")
    Event.objects.create(
        run=stream.attempt.run,
        attempt=stream.attempt,
        stream=stream,
        offset=5,
        line=2,
        kind="damaged",
        at=timezone.now(),
        text="",
        data={"why": "cut"},
    )
    fine, cut = log_part(stream, 0).lines
    assert (fine.mark, cut.mark, cut.remark) == ("", "warn", "damaged: cut")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x1b[32mgreen\x1b[0m\n", "green"),
        (b"10%\r100%\n", "100%"),
        (b"\x00nul", "\ufffdnul"),
        (b"\xff", "\ufffd"),
        (b"\x1b]0;title\x07text", "text"),
        (b"windows\r\n", "windows"),
    ],
)
def test_it_leaves_no_terminal_control_in_a_line(raw: bytes, text: str) -> None:
    assert readable(raw) == text


def test_it_takes_what_journald_put_in_front() -> None:
    stream = stored(
        b"May 29 17:23:15 llm-two python[1082]: [2026-05-29 17:23:15 TP0 EP0] Decode batch\n",
        b"May  9 07:01:02 llm-two systemd[1]: Started.\n",
    )
    first, second = log_part(stream, 0).lines
    assert (first.clock, first.rank, first.text) == ("17:23:15", "TP0 EP0", "Decode batch")
    assert (second.clock, second.text) == ("07:01:02", "Started.")
