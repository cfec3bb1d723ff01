"""Carriers one by one: what is left of a line, and who printed it."""

import json

import pytest

from runs.readers.carriers import PLAIN, Carriers
from runs.readers.carriers.signs import last_state, without_escapes

LINE = b"[2026-11-29 16:01:02 TP0] Load weight begin."


def unwrap(raw: bytes) -> tuple:
    carried = Carriers().unwrap(raw)
    origin = carried.origin
    return carried.message, origin.source, origin.host, origin.ident, origin.pid, carried.time


@pytest.mark.parametrize(
    ("prefix", "told"),
    [
        (b"", (None, None, None, None, None)),
        (
            b"Nov 29 16:01:02 node-7 sglang[43]: ",
            ("node-7", "node-7", "sglang", 43, "11-29T16:01:02"),
        ),
        (b"Nov  9 16:01:02.25 n s: ", ("n", "n", "s", None, "11-09T16:01:02.25")),
        (b"2026-11-29T16:01:02+0100 n s[1]: ", ("n", "n", "s", 1, "2026-11-29T16:01:02+01:00")),
        (b"Sun 2026-11-29 16:01:02 UTC n s[1]: ", ("n", "n", "s", 1, "2026-11-29T16:01:02Z")),
        (b"<30>Nov 29 16:01:02 n s[1]: ", ("n", "n", "s", 1, "11-29T16:01:02")),
        (b"server-1  | ", ("server-1", None, None, None, None)),
        (b"[server]   | ", ("server", None, None, None, None)),
        (b"[pod/a/b] 2026-11-29T16:01:02.5Z ", ("a", None, None, None, "2026-11-29T16:01:02.5Z")),
        (b"2026-11-29T16:01:02.5Z ", (None, None, None, None, "2026-11-29T16:01:02.5Z")),
        (b"2026-11-29T16:01:02.5Z stdout F ", (None, None, None, None, "2026-11-29T16:01:02.5Z")),
        (b"(Actor pid=12, ip=192.0.2.1) ", (None, "192.0.2.1", "Actor", 12, None)),
        (b"> > ", (None, None, None, None, None)),
        (b"&gt; ", (None, None, None, None, None)),
        (b"\x1b[36mserver-1  | \x1b[0m", ("server-1", None, None, None, None)),
    ],
)
def test_a_prefix_is_taken_off_and_says_who_printed_the_line(prefix: bytes, told: tuple) -> None:
    assert unwrap(prefix + LINE) == (LINE, *told)


def test_equal_writers_are_one_object_and_plain_text_has_none() -> None:
    carriers = Carriers()
    lines = [carriers.unwrap(b"Nov 29 16:01:02 n s[1]: " + LINE) for _ in range(3)]
    assert len({id(each.origin) for each in lines}) == 1
    assert carriers.unwrap(LINE).origin is PLAIN


def test_the_quick_way_through_a_journal_gives_what_the_long_way_gives() -> None:
    heads = [b"Nov 29 16:01:02 n s[1]: ", b"Nov 29 16:01:02 n s[2]: ", b"Nov 29 16:01:03 n s[1]: "]
    carriers = Carriers()
    for head in [*heads, *heads, *reversed(heads)]:
        assert carriers.unwrap(head + LINE) == Carriers().unwrap(head + LINE)


def test_journal_json_tells_the_unit_and_its_life() -> None:
    told = {
        "MESSAGE": LINE.decode(),
        "_HOSTNAME": "n",
        "SYSLOG_IDENTIFIER": "s",
        "_PID": "43",
        "_SYSTEMD_INVOCATION_ID": "abc",
        "__REALTIME_TIMESTAMP": "1795968062250000",
    }
    carried = Carriers().unwrap(json.dumps(told).encode())
    assert carried.message == LINE
    assert carried.origin.life == "abc"
    assert carried.time == "2026-11-29T16:01:02.250000Z"


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"{}",
        b'{"MESSAGE"',
        b'{"MESSAGE": {}}',
        b'{"log": 3}',
        b'{"message": []}',
        b"[" * 9999,
    ],
)
def test_what_is_no_carrier_is_left_as_it_is(raw: bytes) -> None:
    carried = Carriers().unwrap(raw)
    assert carried.fault is not None or carried.message == raw


NESTED = (
    b"a\x1b[1;31mb\x1b]0;title\x07c\x1b]8;;http://x\x1b\\d\x1b]8;;\x1b\\e\x1b]52;c;AAAA\x07f"
    b"\x1bP1;2|q\x1b\\g\x1b(Bh\x1b[?25li\x1b=j"
)


def test_every_escape_sequence_goes_and_the_letters_stay() -> None:
    assert without_escapes(NESTED) == b"abcdefghij"


def test_an_escape_without_a_bracket_goes_from_a_message_in_json_too() -> None:
    line = b'{"log":"a\\u001b(Bb\\n","stream":"stderr","time":"2026-03-01T10:00:00Z"}'
    assert Carriers().unwrap(line).message.strip() == b"ab"


@pytest.mark.parametrize("cut", range(len(NESTED)))
def test_no_escape_byte_is_left_of_a_cut_sequence(cut: int) -> None:
    assert b"\x1b" not in without_escapes(NESTED[:cut])
    assert b"\x1b" not in Carriers().unwrap(NESTED[:cut]).message


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"one\r", b"one"),
        (b"10%\r50%\r100%", b"100%"),
        (b"10%\r50%\r", b"50%"),
        (b"10%\r   ", b"10%"),
        (b"plain", b"plain"),
    ],
)
def test_a_bar_shows_its_last_state(raw: bytes, shown: bytes) -> None:
    assert last_state(raw) == shown
