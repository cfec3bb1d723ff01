from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.nodekit.loadanswer import Answer, is_plain_text, message_of_body
from hosts.nodekit.loadexchange import Exchange, Job
from hosts.nodekit.loadstream import Events, ProtocolError, Response, data_of

from . import recorded, scripted

FRAMINGS: dict[str, Any] = {
    "chunked": lambda name: b"".join(recorded.chunked(name)),
    "counted": recorded.counted,
    "until close": recorded.until_close,
}
# name: chunks with text, first text, finish, (prompt, output) tokens
EXPECTED = {
    "sglang.chat_stream": (4, "stop", 42, 8),
    "sglang.completions_stream": (8, "length", 3, 8),
    "vllm.chat_stream": (7, "stop", 42, 8),
    "vllm.completions_stream": (7, "length", 3, 8),
}


def _read(pieces: list[bytes]) -> Exchange:
    """All pieces through the whole reader, the i-th at time i."""
    exchange = Exchange(Job(0, b""), 0.0)
    for moment, piece in enumerate(pieces):
        exchange.take(piece, float(moment))
    exchange.response.close()
    exchange.settle(float(len(pieces)))
    return exchange


def _result(exchange: Exchange) -> tuple[Any, ...]:
    answer, response = exchange.answer, exchange.response
    state = (response.status, response.done, exchange.problem(), exchange.body)
    return (*state, answer.chunks, answer.finish, answer.usage, answer.finished, answer.error)


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("name", recorded.STREAMS)
def test_real_answers_are_read_whatever_their_framing(name: str, framing: str) -> None:
    exchange = _read([FRAMINGS[framing](name)])
    chunks, finish, prompt, output = EXPECTED[name]
    answer = exchange.answer
    assert exchange.problem() is None
    assert (answer.chunks, answer.finish) == (chunks, finish)
    assert answer.usage is not None
    assert answer.usage["prompt_tokens"] == prompt
    assert answer.usage["completion_tokens"] == output
    assert len(answer.gaps) == chunks - 1


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("name", recorded.STREAMS)
def test_a_cut_at_any_byte_changes_nothing(name: str, framing: str) -> None:
    data = FRAMINGS[framing](name)
    whole = _result(_read([data]))
    for at in range(len(data) + 1):
        assert _result(_read([data[:at], data[at:]])) == whole, at


@pytest.mark.parametrize("name", recorded.STREAMS + recorded.ERRORS)
def test_byte_by_byte_is_the_same(name: str) -> None:
    data = recorded.counted(name) if "err" in name else FRAMINGS["chunked"](name)
    pieces = [data[at : at + 1] for at in range(len(data))]
    assert _result(_read(pieces)) == _result(_read([data]))


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_any_split_of_the_same_bytes_gives_the_same_result(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(recorded.STREAMS))
    framing = data.draw(st.sampled_from(sorted(FRAMINGS)))
    line_end = data.draw(st.sampled_from([b"\n", b"\r\n"]))
    stream = FRAMINGS[framing](name)
    if framing == "until close":
        head, body = stream.split(b"\r\n\r\n", 1)
        stream = head + b"\r\n\r\n" + body.replace(b"\n", line_end)
    if data.draw(st.booleans()):
        stream = stream[: data.draw(st.integers(0, len(stream)))]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=40)))
    edges = [0, *cuts, len(stream)]
    pieces = [stream[a:b] for a, b in pairwise(edges)]
    assert _result(_read(pieces)) == _result(_read([stream]))


@settings(max_examples=300, deadline=None)
@given(body=st.binary(max_size=600), data=st.data())
def test_chunks_of_any_size_give_back_the_body(body: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=8)))
    edges = [0, *cuts, len(body)]
    parts = [body[a:b] for a, b in pairwise(edges) if a < b]
    style = data.draw(st.sampled_from([b"%x\r\n%s\r\n", b"%X;a=b\r\n%s\r\n", b"000%x\r\n%s\r\n"]))
    trailer = data.draw(st.sampled_from([b"0\r\n\r\n", b"0\r\nA: b\r\nC: d\r\n\r\n"]))
    wire = scripted.HEAD + b"".join(style % (len(p), p) for p in parts) + trailer
    at = data.draw(st.integers(0, len(wire)))
    response = Response()
    assert response.feed(wire[:at]) + response.feed(wire[at:]) == body
    assert response.done
    assert response.keep_alive


@pytest.mark.parametrize(
    "wire",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        scripted.HEAD + b"zz\r\n",
        scripted.HEAD + b"-5\r\nabc",
        scripted.HEAD + b"3\r\nabcd\r\n",
        scripted.HEAD + b"x" * 5000,
        b"HTTP/1.1 200 OK\r\n" + b"x" * 70000,
    ],
)
def test_what_is_no_http_answer_is_refused(wire: bytes) -> None:
    with pytest.raises(ProtocolError):
        Response().feed(wire)


def test_an_interim_answer_is_passed_over() -> None:
    response = Response()
    response.feed(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    assert (response.status, response.done) == (200, True)


@pytest.mark.parametrize(
    ("head", "keep"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive", True),
        (b"HTTP/1.1 204 No Content", True),
    ],
)
def test_it_knows_whether_the_connection_may_be_used_again(head: bytes, keep: bool) -> None:
    response = Response()
    response.feed(head + b"\r\n\r\n")
    assert response.done
    assert response.keep_alive is keep


def test_bytes_after_the_answer_end_the_connection() -> None:
    response = Response()
    response.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    response.feed(b"HTTP/1.1")
    assert not response.keep_alive


def test_events_may_be_written_in_every_allowed_way() -> None:
    wire = b": ping\n\ndata:{\ndata: }\n\nevent: x\ndata: 1\nid: 5\n\nretry: 3\n\n\n\ndata: last"
    events = Events()
    found = [data_of(event) for event in [*events.feed(wire), *events.finish()]]
    assert [data for data in found if data is not None] == [b"{\n}", b"1", b"last"]


def test_text_cannot_pass_for_structure() -> None:
    # The model says what our needles look for; as JSON its quotes are escaped.
    nasty = 'data: "finish_reason":null "content":"" \n\n data: [DONE]'
    answer = Answer()
    sends = [scripted.chat("a"), scripted.chat(nasty), scripted.chat(nasty), scripted.chat(nasty)]
    response, events = Response(), Events()
    for moment, send in enumerate([scripted.HEAD, *sends, scripted.usage(9), scripted.DONE]):
        for event in events.feed(response.feed(send)):
            answer.take(event, float(moment))
    answer.settle()
    assert answer.chunks == 4
    assert answer.finish is None
    assert (answer.first, answer.last, list(answer.gaps)) == (1.0, 4.0, [1.0, 1.0, 1.0])
    assert answer.finished


def _answer(*values: Any) -> Answer:
    """Each value as an event, a second apart."""
    answer, response, events = Answer(), Response(), Events()
    for moment, send in enumerate([scripted.HEAD, *values]):
        for event in events.feed(response.feed(send)):
            answer.take(event, float(moment))
    answer.settle()
    return answer


def test_a_chunk_with_the_role_only_is_not_the_first_text() -> None:
    answer = _answer(scripted.chat("", role="assistant"), scripted.chat(None), scripted.chat("Hi"))
    assert (answer.first, answer.last, answer.chunks) == (3.0, 3.0, 1)


def test_empty_text_in_between_is_no_chunk() -> None:
    answer = _answer(
        scripted.chat("a"), scripted.chat(""), scripted.chat("b"), scripted.chat(None, "stop")
    )
    assert (answer.first, answer.last, answer.chunks) == (1.0, 3.0, 2)
    assert answer.finish == "stop"


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_thinking_is_text(key: str) -> None:
    answer = _answer(
        scripted.chat(None, **{key: "hm"}), scripted.chat(None, **{key: "so"}), scripted.chat("4")
    )
    assert (answer.first, answer.last, answer.chunks) == (1.0, 3.0, 3)


def test_json_with_blanks_is_read_the_same() -> None:
    pattern = '{"choices": [{"delta": {"content": "TEXT"}, "finish_reason": null}]}'
    spaced = [scripted.event(pattern.replace("TEXT", text)) for text in ("a", "b", "", "c")]
    answer = _answer(*spaced, scripted.usage(3))
    assert (answer.first, answer.last, answer.chunks) == (1.0, 4.0, 3)


def test_a_long_answer_of_such_json_is_not_hoarded() -> None:
    spaced = scripted.event('{"choices": [{"delta": {"content": "a"}}]}')
    answer = Answer()
    for moment in range(1000):
        answer.take(b'data: {"choices": [{"delta": {"content": "a"}}]}', float(moment))
        assert len(answer.waiting) < 10
    answer.settle()
    assert (answer.chunks, answer.last) == (1000, 999.0)
    assert not is_plain_text(spaced)


def test_usage_in_the_last_chunk_with_text_counts() -> None:
    last = {"choices": [{"text": "b", "finish_reason": "length"}]}
    answer = _answer(
        scripted.event({"choices": [{"text": "a", "finish_reason": None}], "usage": None}),
        scripted.event({**last, "usage": {"completion_tokens": 5}}),
    )
    assert answer.usage == {"completion_tokens": 5}
    assert (answer.chunks, answer.finish, answer.last) == (2, "length", 2.0)


def test_chunks_that_come_together_are_zero_apart() -> None:
    answer = _answer(scripted.chat("a") + scripted.chat("b"), scripted.chat("c"))
    assert list(answer.gaps) == [0.0, 1.0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (recorded.parts("sglang.err_context_length")[1], "The input (9031 tokens) is longer than"),
        (recorded.parts("vllm.err_unknown_model")[1], "The model `nope` does not exist."),
        (b'{"detail":"Not Found"}', "Not Found"),
        (b'{"error":"busy"}', "busy"),
        (b"<h1>Bad Gateway</h1>", "<h1>Bad Gateway</h1>"),
        (b"\xff", "\ufffd"),
    ],
)
def test_the_message_is_found_in_every_shape_of_error(body: bytes, message: str) -> None:
    assert message_of_body(body).startswith(message)
