"""`bench` with real processes: what they print, write and leave behind, and how they end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hosts import kit
from hosts.nodekit import benchtail

from .conftest import PYTHON, Node, wait_for
from .scripted import Asked, Step, serving

TOOL = """
import json, sys, time
n = int(sys.argv[1])
print("benchmark begins")
for k in range(n + 1):
    sys.stderr.write("\\r %3d%%|##  | %d/%d [00:01<00:02,  3.1it/s]" % (100 * k // n, k, n))
    sys.stderr.flush()
    time.sleep(0.12)
print("\\nähem: done")
with open(sys.argv[2], "w") as file:
    file.write(json.dumps({"output_throughput": 12.5}) + "\\n")
"""


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kit = folder / "kit.pyz"
        self.kit.write_bytes(kit.build().data)

    def open(self, levels: list[dict[str, Any]], **more: Any) -> subprocess.Popen[bytes]:
        spec = {
            "base_url": "http://127.0.0.1:1",
            "levels": [_level(**one) for one in levels],
            "stop_grace_s": 2.0,
            **more,
        }
        (self.folder / "bench.json").write_text(json.dumps(spec))
        return subprocess.Popen(
            [PYTHON, str(self.kit), "bench", str(self.folder / "bench.json")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *levels: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
        with self.open(list(levels), **more) as process:
            return finish(process)

    def script(self, text: str, *arguments: str) -> list[str]:
        path = self.folder / f"tool-{len(list(self.folder.iterdir()))}.py"
        path.write_text(text)
        return [sys.executable, str(path), *arguments]


def _level(**given: Any) -> dict[str, Any]:
    return {"concurrency": 1, "requests": 4, "seed": None, "result": None, **given}


def finish(process: subprocess.Popen[bytes], exit_status: int = 0) -> list[dict[str, Any]]:
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (exit_status, b"")
    return [json.loads(line) for line in stdout.splitlines()]


def of(records: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [record for record in records if record["type"] == kind]


def said(records: list[dict[str, Any]], level: int = 0) -> str:
    return "".join(r["text"] for r in of(records, "output") if r["level"] == level)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_each_level_is_one_command_in_order(bench: Bench) -> None:
    argv = bench.script(TOOL, "4", "level-{}.json")
    levels = [
        {"concurrency": c, "argv": [*argv[:-1], f"level-{i}.json"], "result": f"level-{i}.json"}
        for i, c in enumerate((1, 8))
    ]
    records = bench.run(*levels)
    assert records[0]["type"] == "hello" and records[0]["levels"] == [1, 8]
    starts = of(records, "level_start")
    assert [(s["level"], s["concurrency"], s["requests"]) for s in starts] == [(0, 1, 4), (1, 8, 4)]
    assert starts[1]["argv"][-1] == "level-1.json"
    for number in (0, 1):
        assert "benchmark begins" in said(records, number)
        assert "ähem: done" in said(records, number)
        assert "4/4" in said(records, number)
    assert [json.loads(r["text"]) for r in of(records, "result")] == [
        {"output_throughput": 12.5}
    ] * 2
    ends = of(records, "level_end")
    assert [(e["exit"]["code"], e["exit"]["reason"]) for e in ends] == [(0, "exited")] * 2
    assert ends[0]["result"] == {"name": "level-0.json", "bytes": 28, "cut": False}
    assert records[-1]["type"] == "done" and records[-1]["ok"] is True
    times = [r["t"] for r in records if "t" in r]
    assert times == sorted(times)


def test_progress_and_window_are_those_of_the_bar(bench: Bench) -> None:
    slow = "import time\ntime.sleep(0.5)\n" + TOOL + "\ntime.sleep(0.5)\n"
    records = bench.run({"argv": bench.script(slow, "4", "r.json"), "result": "r.json"})
    [end] = of(records, "level_end")
    assert end["window"]["by"] == "bar"
    span = end["window"]["end"] - end["window"]["start"]
    assert 0.2 < span < end["exit"]["seconds"] - 0.6
    told = [r["done"] for r in of(records, "progress") if r["done"] is not None]
    assert told == sorted(told) and told
    assert {r["of"] for r in of(records, "progress")} == {4}


def test_a_tool_without_a_bar_is_measured_by_its_process(bench: Bench) -> None:
    argv = [sys.executable, "-c", "import time; time.sleep(0.4); print('x', end='')"]
    records = bench.run({"argv": argv})
    [end] = of(records, "level_end")
    assert end["window"]["by"] == "process"
    assert end["result"] is None
    assert said(records) == "x"
    assert [r["done"] for r in of(records, "progress")] == [None]


def test_the_exit_status_is_kept_and_the_next_level_is_run(bench: Bench) -> None:
    bad = [sys.executable, "-c", "import sys; print('no luck'); sys.exit(3)"]
    killed = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    good = [sys.executable, "-c", "print('fine')"]
    records = bench.run({"argv": bad}, {"argv": killed}, {"argv": good})
    ends = [r["exit"] for r in of(records, "level_end")]
    assert [(e["code"], e["signal"]) for e in ends] == [(3, None), (None, 9), (0, None)]
    assert "no luck" in said(records, 0) and "fine" in said(records, 2)
    assert records[-1]["ok"] is False


def test_a_program_that_is_not_there_is_told(bench: Bench) -> None:
    records = bench.run({"argv": ["no-such-tool-anywhere", "x"]})
    [end] = of(records, "level_end")
    assert end["exit"]["reason"] == "cannot-start"
    assert "no-such-tool-anywhere" in end["exit"]["message"]


def test_a_result_that_was_not_written_is_told(bench: Bench) -> None:
    records = bench.run({"argv": [sys.executable, "-c", "pass"], "result": "none.json"})
    [end] = of(records, "level_end")
    assert end["result"]["bytes"] is None
    assert "No such file" in end["result"]["problem"]


def test_term_ends_the_tools_group_and_the_end_is_told(bench: Bench) -> None:
    text = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
print(os.getpid(), child.pid)
time.sleep(300)
"""
    with bench.open([{"argv": bench.script(text)}, {"argv": ["true"]}]) as process:
        out = bench.folder / "level-0.out"
        wait_for(lambda: out.exists() and len(out.read_text().split()) == 2)
        pids = [int(word) for word in out.read_text().split()]
        process.send_signal(signal.SIGTERM)
        records = finish(process)
    [end] = of(records, "level_end")  # the second level was not begun
    assert (end["exit"]["signal"], end["exit"]["reason"]) == (signal.SIGTERM, "stopped")
    assert records[-1] == {**records[-1], "type": "done", "ok": False}
    wait_for(lambda: not any(_lives(pid) for pid in pids))


def test_a_tool_that_heeds_no_term_is_killed_after_the_grace(bench: Bench) -> None:
    text = (
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('deaf')\ntime.sleep(300)\n"
    )
    begun = time.monotonic()
    with bench.open([{"argv": bench.script(text)}], stop_grace_s=0.5) as process:
        out = bench.folder / "level-0.out"
        wait_for(lambda: out.exists() and "deaf" in out.read_text())
        process.send_signal(signal.SIGTERM)
        records = finish(process)
    assert of(records, "level_end")[0]["exit"]["signal"] == signal.SIGKILL
    assert time.monotonic() - begun < 20


def test_what_a_tool_leaves_behind_does_not_load_the_next_level(bench: Bench) -> None:
    text = (
        "import subprocess, sys\n"
        "c = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'])\n"
        "print(c.pid)\n"
    )
    records = bench.run({"argv": bench.script(text)})
    pid = int(said(records))
    wait_for(lambda: not _lives(pid))


def test_a_level_has_a_time_limit(bench: Bench) -> None:
    argv = [sys.executable, "-c", "import time; time.sleep(300)"]
    records = bench.run({"argv": argv}, {"argv": ["true"]}, level_timeout_s=0.5)
    assert [e["exit"]["reason"] for e in of(records, "level_end")] == ["time-limit", "exited"]


def test_the_middle_of_endless_output_is_left_out_and_counted(bench: Bench) -> None:
    text = (
        "print('first line')\n"
        "for n in range(60_000): print('%060d' % n)\n"
        'print(\'{"last": "line"}\')\n'
    )
    records = bench.run({"argv": bench.script(text)})
    whole = said(records)
    assert whole.startswith("first line") and whole.endswith('{"last": "line"}\n')
    [end] = of(records, "level_end")
    skipped = end["output"]["skipped"]
    assert skipped == sum(r.get("skipped", 0) for r in of(records, "output")) > 1_000_000
    assert len(whole) + skipped == end["output"]["bytes"] == 60_000 * 61 + 11 + 17
    assert (bench.folder / "level-0.out").stat().st_size == end["output"]["bytes"]


def test_unreadable_bytes_are_text_all_the_same(bench: Bench) -> None:
    argv = [sys.executable, "-c", r"import os; os.write(1, b'\xff\x00ok\xe2\x82\n' * 20000)"]
    records = bench.run({"argv": argv})
    assert said(records).startswith("\ufffd\x00ok\ufffd\n")
    assert max(len(json.dumps(r)) for r in records) < 256 * 1024


def test_pieces_are_whole_and_end_behind_a_line_or_a_comma() -> None:
    data = json.dumps({f"key_{n}": "ä" * 40 for n in range(3000)}, ensure_ascii=False).encode()
    parts = benchtail.pieces(data)
    assert b"".join(parts) == data and len(parts) > 3
    assert all(part.endswith(b",") for part in parts[:-1])
    without = ("ä" * 100_000).encode()
    assert all("\ufffd" not in benchtail.text_of(part) for part in benchtail.pieces(without))


def _flush(status: int, body: bytes) -> Any:
    def script(asked: Asked) -> Iterator[Step]:
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n"
        yield head.encode() + body

    return script


def test_the_cache_is_emptied_before_each_level(bench: Bench) -> None:
    with serving(_flush(200, b"Cache flushed.")) as server:
        records = bench.run(
            {"argv": ["true"]}, {"argv": ["true"]},
            base_url=f"http://127.0.0.1:{server.port}", cache={"policy": "flush"},
        )  # fmt: skip
        assert [asked.path for asked in server.seen.asked] == ["/flush_cache"] * 2
    told = of(records, "cache")
    assert [(t["level"], t["ok"], t["status"]) for t in told] == [(0, True, 200), (1, True, 200)]
    order = [r["type"] for r in records if r["type"] != "progress"]
    assert order[1:4] == ["level_start", "cache", "level_end"]


def test_a_refusal_with_status_200_is_one_and_a_route_that_is_not_there_gets_its_hint(
    bench: Bench,
) -> None:
    """As vLLM 0.32.0 answers while blocks are held, and without its development mode."""
    cache = {"policy": "flush", "path": "/reset_prefix_cache", "hint": "Set X=1."}
    for status, body, ok, text in (
        (200, b'{"success":true}', True, '{"success":true}'),
        (200, b'{"success":false}', False, '{"success":false}'),
        (404, b'{"detail":"Not Found"}', False, "Set X=1."),
    ):
        with serving(_flush(status, body)) as server:
            url = f"http://127.0.0.1:{server.port}"
            records = bench.run({"argv": ["true"]}, base_url=url, cache=cache)
            assert {asked.path for asked in server.seen.asked} == {"/reset_prefix_cache"}
        [told] = of(records, "cache")
        assert (told["ok"], told["status"], told["text"]) == (ok, status, text)


METRICS = """\
# HELP vllm:prefix_cache_hits_total Prefix cache hits, in terms of number of cached tokens.
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{{engine="0",model_name="tiny"}} {hits:.1f}
vllm:prefix_cache_hits_total{{engine="1",model_name="tiny"}} 100.0
vllm:prefix_cache_hits_created{{engine="0",model_name="tiny"}} 1.7959735e+09
vllm:prefix_cache_queries_total{{engine="0",model_name="tiny"}} {asked:.1f}
"""
COUNTERS = {
    "path": "/metrics",
    "cached": "vllm:prefix_cache_hits_total",
    "asked": "vllm:prefix_cache_queries_total",
}


def test_what_the_servers_counters_moved_during_a_level_is_told(bench: Bench) -> None:
    def script(asked: Asked) -> Iterator[Step]:
        told = METRICS.format(hits=512 * asked.n, asked=1024 * asked.n)
        yield from _flush(200, told.encode())(asked)

    with serving(script) as server:
        url = f"http://127.0.0.1:{server.port}"
        cache = {"policy": "keep", "counters": COUNTERS}
        records = bench.run({"argv": ["true"]}, base_url=url, cache=cache)
    assert of(records, "level_end")[0]["prefix"] == {"cached": 512, "asked": 1024}
    with serving(_flush(404, b"")) as server:
        url = f"http://127.0.0.1:{server.port}"
        records = bench.run({"argv": ["true"]}, base_url=url, cache=cache)
    assert of(records, "level_end")[0]["prefix"] is None


def test_a_refused_flush_is_told_after_some_tries_and_the_level_is_run(bench: Bench) -> None:
    with serving(_flush(400, b"requests are running")) as server:
        records = bench.run(
            {"argv": ["true"]},
            base_url=f"http://127.0.0.1:{server.port}", cache={"policy": "flush"},
        )  # fmt: skip
        assert len(server.seen.asked) == 5
    [told] = of(records, "cache")
    assert (told["ok"], told["status"], told["text"]) == (False, 400, "requests are running")
    assert of(records, "level_end")[0]["exit"]["code"] == 0


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"levels": []}, "levels"),
        ({"levels": [{"concurrency": 1, "requests": 1, "argv": []}]}, "argv"),
        ({"levels": [{"concurrency": 0, "requests": 1, "argv": ["x"]}]}, "concurrency"),
        ({"stop_grace_s": None}, "stop_grace_s"),
        ({"cache": {"policy": "burn"}}, "policy"),
        ({"base_url": "ftp://x"}, "base_url"),
    ],
)
def test_a_wrong_specification_is_fatal_and_names_the_key(
    bench: Bench, change: dict[str, Any], named: str
) -> None:
    given = {"levels": [_level(argv=["true"])], **change}
    levels = given.pop("levels")
    spec = {"base_url": "http://127.0.0.1:1", "stop_grace_s": 1.0, "levels": levels, **given}
    (bench.folder / "bench.json").write_text(json.dumps(spec))
    command = [PYTHON, str(bench.kit), "bench", str(bench.folder / "bench.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        [record] = finish(process, exit_status=1)
    assert record["type"] == "fatal" and named in record["message"]


def test_as_a_job_it_is_ended_with_its_tool(node: Node) -> None:
    argv = [sys.executable, "-c", "import os, time; print(os.getpid()); time.sleep(300)"]
    spec = {
        "base_url": "http://127.0.0.1:1", "stop_grace_s": 1.0,
        "levels": [_level(argv=argv, result="{job_dir}/r.json")],
    }  # fmt: skip
    node.start(
        "{python}", "{kit}", "bench", "{job_dir}/bench.json", files={"bench.json": json.dumps(spec)}
    )
    out = node.job_dir / "level-0.out"
    wait_for(lambda: out.exists() and out.read_text().strip())
    pid = int(out.read_text())
    assert node.stop()["outcome"] == "stopped"
    assert not _lives(pid)
    last = (node.job_dir / "server.log").read_text().splitlines()[-1]
    assert json.loads(last)["type"] == "done"


def _lives(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
