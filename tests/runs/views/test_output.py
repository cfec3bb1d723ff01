"""What a load tool printed at a level, as a page of plain text."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from runs.models import LogChunk, LogStream
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_level,
    make_run,
    make_stream,
    make_workload,
)

BAR = "\r  0%|          | 0/8 [00:00<?, ?it/s]\r100%|##########| 8/8 [00:05<00:00,  1.55it/s]\n"
ZERO = {"type": "hello", "v": 1, "t": 1.0, "levels": [2, 4], "client": {}}


def lines(*records: dict[str, object]) -> bytes:
    return "".join(json.dumps(each) + "\n" for each in records).encode()


def level(number: int, printed: str, result: str | None) -> bytes:
    start = {"type": "level_start", "level": number, "t": 1.0, "concurrency": 2, "requests": 8,
             "seed": 1, "argv": ["x"]}  # fmt: skip
    told = [{"type": "output", "level": number, "t": 2.0, "text": printed}]
    if result is not None:
        told.append({"type": "result", "level": number, "t": 3.0, "text": result})
    return lines(start, *told)


@pytest.fixture
def run_of_a_tool(db: None) -> int:
    load = make_workload((2, 4), driver="sglang_bench", prompt_set="random")
    run = make_run(make_arm(make_campaign(), workload=load))
    attempt = make_attempt(run)
    head = lines(ZERO)
    first = level(0, f"<b>Serving</b>{BAR}", '{"output_throughput": 35.3}')
    second = level(1, "", None)
    data = head + first + second
    stream = make_stream(attempt, LogStream.Role.LOAD, position=len(data))
    LogChunk.of(stream, 0, data).save()
    ends = (len(head) + len(first), len(data))
    begins = (len(head), ends[0])
    for concurrency, begin, end in zip((2, 4), begins, ends, strict=True):
        told = {"begun_at_byte": begin, "ended_at_byte": end, "exit": {"code": 0}}
        make_level(attempt, concurrency, 35.3, summary=told)
    return int(run.pk)


def page(member: Client, run: int, rest: str) -> str:
    answer = member.get(f"/runs/{run}/levels/{rest}")
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    return answer.content.decode()


def test_it_is_readable_and_never_markup(member: Client, run_of_a_tool: int) -> None:
    told = page(member, run_of_a_tool, "0/output/")
    assert told.splitlines()[0] == "<b>Serving</b>"
    assert told.splitlines()[2].startswith("100%|##########| 8/8")
    assert "\r" not in told
    assert page(member, run_of_a_tool, "0/output/?what=result") == '{"output_throughput": 35.3}'


def test_nothing_is_said_in_words(member: Client, run_of_a_tool: int) -> None:
    assert page(member, run_of_a_tool, "1/output/") == "The tool printed nothing.\n"
    assert (
        page(member, run_of_a_tool, "1/output/?what=result") == "The tool wrote no result file.\n"
    )
    assert member.get(f"/runs/{run_of_a_tool}/levels/2/output/").status_code == 404


def test_the_run_links_to_it_and_strangers_do_not_see_it(
    client: Client, member: Client, run_of_a_tool: int
) -> None:
    told = member.get(f"/runs/{run_of_a_tool}/").content.decode()
    assert f'href="/runs/{run_of_a_tool}/levels/1/output/"' in told
    assert Client().get(f"/runs/{run_of_a_tool}/levels/0/output/").status_code == 302


def test_it_is_bounded(member: Client, run_of_a_tool: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.outputs.MOST", 20)
    told = page(member, run_of_a_tool, "0/output/").splitlines()
    assert told[0].startswith("[Only the last 20 of ")
