"""Own prompt files, line by line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.drivers import prompts
from runs.drivers.prompts import PromptsError, lines, parse_prompts, read_prompts


def test_prompts_and_conversations_may_be_mixed() -> None:
    text = '{"prompt": "a"}\r\n\n{"messages": [{"role": "user", "content": "b"}], "id": 7}'
    first, second = parse_prompts(text)
    assert (first.text, first.as_messages()) == ("a", [{"role": "user", "content": "a"}])
    assert second.as_text() == "b"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("hello", "not JSON"),
        ('"hello"', "not an object"),
        ("{}", 'neither "prompt" nor "messages"'),
        ('{"prompt": ""}', "not empty"),
        ('{"prompt": 3}', "must be a text"),
        ('{"prompt": "a\\u0000"}', "no request can carry"),
        ('{"prompt": "\\ud800"}', "no request can carry"),
        ('{"prompt": "a", "messages": []}', "both"),
        ('{"messages": []}', "not empty"),
        ('{"messages": ["a"]}', "message 1 is no object"),
        ('{"messages": [{"role": "robot", "content": "a"}]}', '"role" must be one of'),
        ('{"messages": [{"role": "user"}]}', 'message 1: "content"'),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_line_that_is_no_prompt_is_named_with_its_reason(line: str, reason: str) -> None:
    with pytest.raises(PromptsError) as caught:
        parse_prompts('{"prompt": "fine"}\n' + line)
    assert "line 2: " in str(caught.value)
    assert reason in str(caught.value)


def test_many_wrong_lines_are_counted() -> None:
    with pytest.raises(PromptsError, match=r"line 1: not JSON; .*; and 4 more"):
        parse_prompts("x\n" * 9)


def test_none_and_too_much_are_refused() -> None:
    with pytest.raises(PromptsError, match="at least one"):
        read_prompts(" \n\n")
    with pytest.raises(PromptsError, match="2 MiB"):
        read_prompts(json.dumps({"prompt": "x" * prompts.MAX_BYTES}))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(texts, texts)
def test_no_text_becomes_a_placeholder_and_every_text_comes_back(key: str, text: str) -> None:
    for mark in ("", "{kit}", "{job_dir}", "{python}"):
        value = {"prompt": text + mark, "n": [{key + mark: 1.5}, None, True]}
        written = lines([value])
        assert json.loads(written) == value
        assert not any(each in written for each in ("{kit}", "{job_dir}", "{python}"))
        assert written.count("\n") == 1
