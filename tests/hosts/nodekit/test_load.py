"""The probe driver as a process against servers that follow a script."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hosts import kit
from hosts.nodekit.loadprompts import prompt_maker, shipped
from hosts.nodekit.loadspec import parse_spec

from . import recorded
from .conftest import PYTHON, Node, wait_for
from .scripted import (
    CLOSE,
    DONE,
    END,
    HEAD,
    Asked,
    Step,
    answer,
    chat,
    event,
    serving,
    usage,
)  # fmt: skip


def _spec(port: int, **more: Any) -> dict[str, Any]:
    spec = {
        "base_url": f"http://127.0.0.1:{port}",
        "api": "chat",
        "model": "m",
        "levels": [2],
        "requests_per_level": 6,
        "warmup_requests": 0,
        "temperature": None,
        "ignore_eos": False,
        "seed": 1,
        "max_tokens": 8,
        "prompt_set": "chat",
        "input_tokens": None,
        "prompts_file": None,
        "timeout_s": 20.0,
        "unique_prefix": True,
    }
    return {**spec, **more}


class Driver:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kit = folder / "kit.pyz"
        self.kit.write_bytes(kit.build().data)

    def open(self, spec: Any) -> subprocess.Popen[bytes]:
        path = self.folder / "load.json"
        path.write_text(spec if isinstance(spec, str) else json.dumps(spec))
        return self.open_path(path)

    def open_path(self, path: Path) -> subprocess.Popen[bytes]:
        command = [PYTHON, str(self.kit), "load", str(path)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)

    def run(self, spec: Any, exit_status: int = 0) -> list[dict[str, Any]]:
        with self.open(spec) as process:
            return finish(process, exit_status)


def finish(process: subprocess.Popen[bytes], exit_status: int = 0) -> list[dict[str, Any]]:
    """Its records, once it has ended by itself; nothing may be said on stderr."""
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (exit_status, b"")
    return [json.loads(line) for line in stdout.splitlines()]


def of(records: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [record for record in records if record["type"] == kind]


def errors(records: list[dict[str, Any]]) -> set[str | None]:
    return {(r["error"] or {}).get("kind") for r in of(records, "request")}


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path)


def test_a_sweep_tells_its_story_in_order(driver: Driver) -> None:
    with serving(lambda asked: answer(tokens=8, per_chunk=4, gap_s=0.01)) as server:
        spec = _spec(server.port, levels=[1, 3], requests=[2, 6])
        before = time.time()
        records = driver.run(spec)
    kinds = [r["type"] for r in records if r["type"] != "progress"]
    story = ["level_start", *["request"] * 2, "level_end", "level_start", *["request"] * 6]
    assert kinds == ["hello", *story, "level_end", "done"]
    assert records[0]["levels"] == [1, 3]
    assert records[-1]["ok"] is True
    assert 0 < records[-1]["cpu_s"] < 5
    times = [r["t"] for r in records if "t" in r]
    assert times == sorted(times)
    assert before - 1 < times[0] < time.time() + 1
    assert [(s["level"], s["concurrency"], s["requests"]) for s in of(records, "level_start")] == [
        (0, 1, 2), (1, 3, 6),
    ]  # fmt: skip
    assert sorted(r["n"] for r in of(records, "request") if r["level"] == 1) == list(range(6))


def test_tokens_come_from_usage_not_from_chunks(driver: Driver) -> None:
    with serving(lambda asked: answer(tokens=8, per_chunk=4, gap_s=0.15)) as server:
        records = driver.run(_spec(server.port, requests_per_level=2))
    for request in of(records, "request"):
        assert (request["output_tokens"], request["chunks"]) == (8, 2)
        assert (request["prompt_tokens"], request["cached_tokens"]) == (20, None)
        assert (request["finish"], request["error"]) == ("length", None)
        assert request["send"] < request["first"] < request["last"]
    [end] = of(records, "level_end")
    summary = end["summary"]
    assert (summary["output_tokens"], summary["failed"]) == (16, 0)
    span = end["window"]["end"] - end["window"]["start"]
    assert summary["duration_s"] == pytest.approx(span, abs=1e-5)
    assert summary["output_tps"] == pytest.approx(16 / span, rel=1e-3)
    tpot, itl = summary["tpot"]["mean"], summary["itl"]["mean"]
    assert itl == pytest.approx(7 * tpot, rel=0.01)  # one gap for the seven tokens after the first


def test_the_first_text_not_the_first_chunk_is_the_first_token(driver: Driver) -> None:
    def script(asked: Asked) -> Iterator[Step]:
        yield HEAD + chat("", role="assistant")
        yield 0.25
        yield from (chat("a"), chat("b"), usage(2) + DONE + END)

    with serving(script) as server:
        records = driver.run(_spec(server.port, levels=[1], requests_per_level=1))
    [request] = of(records, "request")
    assert 0.24 < request["first"] - request["send"] < 2


@pytest.mark.parametrize("name", recorded.STREAMS)
@pytest.mark.parametrize("framing", ["chunked", "counted", "until_close"])
def test_it_reads_what_real_engines_sent(driver: Driver, name: str, framing: str) -> None:
    def script(asked: Asked) -> Iterator[Step]:
        if framing == "chunked":
            yield from recorded.chunked(name)
        elif framing == "counted":
            yield recorded.counted(name)
        else:
            yield from (recorded.until_close(name), CLOSE)

    api = "chat" if "chat" in name else "completions"
    with serving(script) as server:
        records = driver.run(_spec(server.port, api=api))
        paths = {asked.path for asked in server.seen.asked}
    assert paths == {"/v1/chat/completions" if api == "chat" else "/v1/completions"}
    assert errors(records) == {None}
    assert {r["output_tokens"] for r in of(records, "request")} == {8}
    assert len(of(records, "request")) == 6


def test_it_keeps_the_concurrency_over_kept_connections(driver: Driver) -> None:
    with serving(lambda asked: answer(gap_s=0.01)) as server:
        records = driver.run(_spec(server.port, levels=[4], requests_per_level=20))
        assert (server.seen.most, server.seen.connections) == (4, 4)
    summary = of(records, "level_end")[0]["summary"]
    assert max(n for _, n in summary["inflight"]) == 4
    assert summary["inflight"][-1][1] == 0
    assert summary["steady"]["start"] < summary["steady"]["end"]
    assert summary["steady"]["output_tps"] > 0


def test_the_request_says_what_the_workload_says(driver: Driver) -> None:
    with serving(lambda asked: answer()) as server:
        driver.run(_spec(server.port, levels=[1], requests_per_level=1))
        plain = server.seen.asked[0].body
        more = {"temperature": 0, "ignore_eos": True, "api": "completions", "max_tokens": 7}
        driver.run(_spec(server.port, levels=[1], requests_per_level=1, **more))
        full = server.seen.asked[1].body
    assert set(plain) == {"model", "max_tokens", "stream", "stream_options", "messages"}
    assert plain["stream_options"] == {"include_usage": True}
    assert plain["stream"] is True
    assert (full["temperature"], full["ignore_eos"], full["max_tokens"]) == (0, True, 7)
    assert isinstance(full["prompt"], str)


def test_no_two_prompts_begin_alike_and_the_order_is_the_seeds(driver: Driver) -> None:
    def prompts(seed: int) -> list[str]:
        with serving(lambda asked: answer()) as server:
            spec = _spec(server.port, levels=[1, 1], requests_per_level=5, warmup_requests=3)
            driver.run({**spec, "seed": seed})
            return [asked.body["messages"][0]["content"] for asked in server.seen.asked]

    one, again, other = prompts(1), prompts(1), prompts(2)
    assert len({text[:12] for text in one + again + other}) == 3 * 16
    texts = [[text.split(" ", 1)[1] for text in run] for run in (one, again, other)]
    assert texts[0] == texts[1] != texts[2]
    assert texts[0][3:8] == texts[0][11:16]  # every level asks the same
    assert set(texts[0]) <= set(shipped("chat"))


def test_the_warm_up_is_not_measured(driver: Driver) -> None:
    def script(asked: Asked) -> Iterator[Step]:
        yield 0.3 if asked.n < 4 else 0.0
        yield from answer()

    with serving(script) as server:
        records = driver.run(_spec(server.port, warmup_requests=4, requests_per_level=5))
        assert len(server.seen.asked) == 9
        assert server.seen.most == 2
    [end] = of(records, "level_end")
    assert len(of(records, "request")) == end["summary"]["requests"] == 5
    assert end["warmup"] == {"requests": 4, "failed": 0}
    assert end["summary"]["ttft"]["p99"] < 0.2


def test_progress_is_told_at_most_twice_a_second(driver: Driver) -> None:
    with serving(lambda asked: answer(gap_s=0.1)) as server:
        records = driver.run(_spec(server.port, levels=[1], requests_per_level=7))
    told = of(records, "progress")
    gaps = [b["t"] - a["t"] for a, b in pairwise(told)]
    assert len(told) >= 3
    assert min(gaps) > 0.45
    assert (told[0]["done"], told[0]["tokens"], told[0]["ttft_p50"]) == (0, 0, None)
    assert told[-1]["tokens"] == 8 * told[-1]["done"]
    assert (told[-1]["of"], told[-1]["inflight"]) == (7, 1)
    assert told[-1]["ttft_p50"] > 0.05


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("sglang.err_context_length", 400, "The input (9031 tokens) is longer than the model's"),
        ("vllm.err_unknown_model", 404, "The model `nope` does not exist."),
    ],
)
def test_an_error_status_is_told_in_the_servers_words(
    driver: Driver, name: str, status: int, message: str
) -> None:
    with serving(lambda asked: iter([recorded.counted(name)])) as server:
        records = driver.run(_spec(server.port))
        assert server.seen.connections == 2  # an error does not cost the connection
    error = of(records, "request")[0]["error"]
    assert (error["kind"], error["status"]) == ("http", status)
    assert error["message"].startswith(message)
    assert len(of(records, "request")) == 6
    assert records[-1]["ok"] is False


def _cut(asked: Asked) -> Iterator[Step]:
    yield from (HEAD + chat("a") + chat("b"), CLOSE)


def _cut_in_a_chunk(asked: Asked) -> Iterator[Step]:
    yield from (HEAD + chat("a") + chat("b")[:20], CLOSE)


def _no_done(asked: Asked) -> Iterator[Step]:
    yield HEAD + chat("a") + chat("b") + usage(2) + END


def _no_usage(asked: Asked) -> Iterator[Step]:
    yield HEAD + chat("a")
    yield 0.01
    yield chat("b") + DONE + END


def _error_event(asked: Asked) -> Iterator[Step]:
    yield HEAD + chat("a") + event({"error": {"message": "Input too long"}}) + DONE + END


def _nothing(asked: Asked) -> Iterator[Step]:
    yield CLOSE


def _garbage(asked: Asked) -> Iterator[Step]:
    yield from (b"220 mail.example ESMTP\r\n\r\n", CLOSE)


@pytest.mark.parametrize(
    ("script", "kind", "message"),
    [
        (_cut, "cut", "the stream ended before [DONE]"),
        (_cut_in_a_chunk, "cut", "the stream ended before [DONE]"),
        (_no_done, "cut", "the stream ended before [DONE]"),
        (_no_usage, "no-usage", "the stream told no usage"),
        (_error_event, "server", "Input too long"),
        (_nothing, "cut", "closed before any answer"),
        (_garbage, "protocol", "not an HTTP answer: '220 mail.example ESMTP'"),
    ],
)
def test_every_broken_answer_has_its_kind(
    driver: Driver, script: Any, kind: str, message: str
) -> None:
    with serving(script) as server:
        records = driver.run(_spec(server.port))
    requests = of(records, "request")
    assert len(requests) == 6
    assert errors(records) == {kind}
    assert {request["error"]["message"] for request in requests} == {message}
    summary = of(records, "level_end")[0]["summary"]
    assert (summary["failed"], records[-1]["ok"]) == (6, False)
    assert summary["output_tokens"] is None
    assert (summary["ttft"]["p50"] is not None) == (kind == "no-usage")


def test_a_server_that_is_not_there_fails_every_request_at_once(driver: Driver) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    begun = time.monotonic()
    records = driver.run(_spec(port, levels=[16, 64], requests_per_level=500))
    assert time.monotonic() - begun < 15
    assert len(of(records, "request")) == 1000
    assert errors(records) == {"connect"}
    assert of(records, "request")[0]["error"]["message"] == "Connection refused"
    assert (len(of(records, "level_end")), records[-1]["ok"]) == (2, False)


def test_a_server_that_dies_mid_run_ends_it_with_a_summary(driver: Driver) -> None:
    with serving(lambda asked: answer(gap_s=0.02)) as server:
        process = driver.open(_spec(server.port, levels=[4, 4], requests_per_level=200))
        wait_for(lambda: len(server.seen.asked) > 12)
        server.die()
        with process:
            records = finish(process)
    assert len(of(records, "request")) == 400
    assert {"cut", "connect", None} >= errors(records) >= {"connect", None}
    first, second = of(records, "level_end")
    assert 0 < first["summary"]["failed"] < 200
    assert first["summary"]["output_tps"] > 0
    assert second["summary"]["failed"] == 200
    assert records[-1]["ok"] is False


def test_a_silent_server_times_out_and_is_not_asked_for_ever(driver: Driver) -> None:
    def script(asked: Asked) -> Iterator[Step]:
        yield HEAD + chat("a")
        yield 60.0

    with serving(script) as server:
        spec = _spec(server.port, levels=[3], requests_per_level=40, timeout_s=0.4)
        begun = time.monotonic()
        records = driver.run(spec)
        assert time.monotonic() - begun < 10
        assert 6 <= len(server.seen.asked) <= 9
    assert len(of(records, "request")) == 40
    assert errors(records) == {"timeout", "not-sent"}
    late = [r for r in of(records, "request") if r["error"]["kind"] == "timeout"]
    assert {r["error"]["message"] for r in late} == {"no complete answer within 0.4 s"}
    assert all(r["first"] is not None for r in late)


def test_a_connection_closed_between_requests_is_made_anew(driver: Driver) -> None:
    def script(asked: Asked) -> Iterator[Step]:
        yield from answer()
        if asked.n % 3 == 2:
            yield CLOSE  # without having said so

    with serving(script) as server:
        records = driver.run(_spec(server.port, levels=[1], requests_per_level=9))
        assert server.seen.connections >= 3
    assert errors(records) == {None}
    assert len(of(records, "request")) == 9


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("warmup", [0, 50])
def test_a_stop_writes_what_it_has_and_ends(
    driver: Driver, number: signal.Signals, warmup: int
) -> None:
    with serving(lambda asked: answer(gap_s=0.05)) as server:
        spec = _spec(server.port, levels=[2, 2], requests_per_level=500, warmup_requests=warmup)
        with driver.open(spec) as process:
            wait_for(lambda: len(server.seen.asked) > 5)
            begun = time.monotonic()
            process.send_signal(number)
            records = finish(process)
            assert time.monotonic() - begun < 3
    assert [r["type"] for r in records[-2:]] == ["level_end", "done"]
    assert records[-1]["ok"] is False
    assert len(of(records, "level_end")) == 1
    if not warmup:
        assert errors(records) == {None, "stopped"}
        assert of(records, "level_end")[0]["summary"]["output_tokens"] >= 16


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"levels": []}, "levels"), ({"levels": [0]}, "levels"), ({"api": "embeddings"}, "api"),
        ({"prompt_set": "poems"}, "prompt_set"), ({"base_url": "https://x:1"}, "base_url"),
        ({"prompt_set": "synthetic"}, "input_tokens"), ({"temperature": "hot"}, "temperature"),
        ({"timeout_s": 0}, "timeout_s"), ({"requests": [1, 2]}, "requests"),
        ({"requests_per_level": None}, "requests_per_level"), ({"seed": -1}, "seed"),
        ({"prompts_file": "nowhere.txt"}, "prompts"), ({"unique_prefix": None}, "unique_prefix"),
        ({"base_url": "http://no-such-host.invalid:1"}, "gaierror"),
    ],
)  # fmt: skip
def test_a_wrong_specification_is_fatal_and_named(
    driver: Driver, change: dict[str, Any], named: str
) -> None:
    records = driver.run(_spec(1, **change), exit_status=1)
    assert records[-1]["type"] == "fatal"
    assert named in records[-1]["message"]
    assert isinstance(records[-1]["t"], float)


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_no_specification_is_fatal(driver: Driver, text: str) -> None:
    assert driver.run(text, exit_status=1)[-1]["type"] == "fatal"


def test_a_missing_specification_is_fatal(driver: Driver, tmp_path: Path) -> None:
    with driver.open_path(tmp_path / "none.json") as process:
        [record] = finish(process, exit_status=1)
    assert "cannot read" in record["message"]


def test_it_runs_as_a_job_under_the_supervisor(node: Node) -> None:
    with serving(lambda asked: answer()) as server:
        node.start(
            "{python}", "{kit}", "load", "{job_dir}/load.json",
            role="load", log="load.jsonl", files={"load.json": json.dumps(_spec(server.port))},
        )  # fmt: skip
        folder = node.root / "runs/7/1/load"
        wait_for((folder / "exit.json").exists)
    assert json.loads((folder / "exit.json").read_text())["code"] == 0
    lines = (folder / "load.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["ok"] is True


def test_stop_lets_the_driver_write_its_end(node: Node) -> None:
    with serving(lambda asked: answer(gap_s=0.05)) as server:
        spec = json.dumps(_spec(server.port, requests_per_level=500))
        node.start("{python}", "{kit}", "load", "{job_dir}/l.json", files={"l.json": spec})
        wait_for(lambda: len(server.seen.asked) > 3)
        assert node.stop()["outcome"] == "stopped"
    lines = (node.job_dir / "server.log").read_text().splitlines()
    assert json.loads(lines[-1])["type"] == "done"
    assert json.loads((node.job_dir / "exit.json").read_text())["reason"] == "stopped"


@pytest.mark.parametrize("name", ["chat", "code", "prose"])
def test_each_set_has_at_least_thirty_different_prompts(name: str) -> None:
    prompts = shipped(name)
    assert len(set(prompts)) == len(prompts) >= 30
    assert all(20 < len(prompt) < 700 for prompt in prompts)


def test_synthetic_prompts_have_their_length_and_differ() -> None:
    spec = parse_spec(_spec(1, prompt_set="synthetic", input_tokens=300), "/")
    make = prompt_maker(spec)
    assert len(make(0).split()) == 300
    assert make(0) == prompt_maker(spec)(0) != make(1)


def test_prompts_may_come_from_a_file_beside_the_specification(tmp_path: Path) -> None:
    lines = ['{"prompt": "one"}', "two", '"three"', "", "4"]
    (tmp_path / "p.txt").write_text("\n".join(lines))
    make = prompt_maker(parse_spec(_spec(1, prompts_file="p.txt"), str(tmp_path)))
    assert {make(n) for n in range(4)} == {"one", "two", "three", "4"}


def test_the_cache_is_emptied_before_a_level_and_its_warm_up(driver: Driver) -> None:
    def script(asked: Asked) -> Iterator[Step]:
        if asked.path == "/flush_cache":
            return iter([b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"])
        return answer()

    with serving(script) as server:
        more = {"levels": [1, 1], "requests_per_level": 2, "warmup_requests": 1}
        spec = _spec(server.port, **more, cache={"policy": "flush"})
        records = driver.run(spec)
        paths = [asked.path.rpartition("/")[2] for asked in server.seen.asked]
    assert paths == ["flush_cache", *["completions"] * 3] * 2
    assert [(r["level"], r["ok"]) for r in of(records, "cache")] == [(0, True), (1, True)]


def test_a_new_seed_asks_other_prompts_at_each_level(driver: Driver) -> None:
    def prompts(policy: str) -> list[list[str]]:
        with serving(lambda asked: answer()) as server:
            more = {"levels": [1, 1], "requests_per_level": 4, "unique_prefix": False}
            driver.run(_spec(server.port, **more, cache={"policy": policy}))
            asked = [each.body["messages"][0]["content"] for each in server.seen.asked]
        return [asked[:4], asked[4:]]

    kept, new = prompts("keep"), prompts("new-seed")
    assert kept[0] == kept[1] == new[0] != new[1]


def test_a_conversation_from_a_file_is_sent_as_it_is(driver: Driver) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    (driver.folder / "p.jsonl").write_text(json.dumps({"messages": messages}) + "\n")
    with serving(lambda asked: answer()) as server:
        more = {"levels": [1], "requests_per_level": 1, "prompts_file": "p.jsonl"}
        driver.run(_spec(server.port, **more))
        driver.run(_spec(server.port, **more, unique_prefix=False, api="completions"))
        chat, completions = (each.body for each in server.seen.asked)
    assert chat["messages"][0]["content"].endswith(" Be brief.")
    assert chat["messages"][1] == messages[1]
    assert completions["prompt"] == "Be brief.\n\nWhy?"
