"""Runs whose load is made by somebody else's tool, from the launch to the judged levels."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from runs.actions.launch import Refused
from runs.execution.conductor import Conductor
from runs.models import Event, Level, LogStream, Reason, Run, State
from runs.readers.results import read_text
from tests.faults.conftest import Scene, conduct, nothing_is_left, until_state

SGLANG = {
    "driver": "sglang_bench",
    "prompt_set": "random",
    "input_tokens": 120,
    "levels": [1, 4],
    "requests_per_level": 8,
    "warmup_requests": 1,
    "max_tokens": 16,
    "temperature": 0.7,
    "cache_policy": "flush",
}
SCRIPT = """
import json, sys, time, urllib.request
base, model, count, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
begun, tokens, failed = time.time(), 0, 0
prompts = [json.loads(line)["prompt"] for line in open(sys.argv[5])]
for n in range(count):
    body = {"model": model, "prompt": prompts[n % 2], "max_tokens": 8, "ignore_eos": True}
    request = urllib.request.Request(base + "/v1/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request) as answer:
        tokens += json.loads(answer.read())["usage"]["completion_tokens"]
ended = time.time()
found = {"throughline": 1, "requests": count, "failed": failed, "output_tokens": tokens,
         "duration_s": ended - begun, "started": begun, "ended": ended}
open(out, "w").write(json.dumps(found))
print("wrote", out)
sys.exit(7)
"""


def levels(run: Run) -> list[Level]:
    return list(Level.objects.filter(attempt__run=run).order_by("index"))


def load_log(run: Run) -> list[dict[str, Any]]:
    stream = LogStream.objects.get(attempt__run=run, role=LogStream.Role.LOAD)
    assert stream.complete
    return [json.loads(line) for line in stream.text().splitlines()]


def test_sglangs_own_client_measures_a_run(scene: Scene) -> None:
    run = conduct(scene.run(**SGLANG))
    assert (run.state, run.reason_text) == (State.SUCCEEDED, "")
    nothing_is_left(run, scene.port)
    for level in levels(run):
        assert (level.requests, level.done, level.failed) == (8, 8, 0)
        assert level.output_tps and level.user_tps and level.ttft_s and level.tpot_s
        assert level.output_tokens == 8 * 16
        assert level.summary["tool"] == "sglang.bench_serving"
        assert level.summary["exit"]["code"] == 0
        assert level.summary["window_by"] == "bar"
        assert level.summary["cache"]["ok"] is True
        assert level.hit_rate is not None and level.hit_rate < 0.5
    flushed = Event.objects.filter(run=run, kind="cache-flushed")
    assert [event.text for event in flushed] == [
        "Cache flushed before level 1.", "Cache flushed before level 4.",
    ]  # fmt: skip
    printed = "".join(r["text"] for r in load_log(run) if r["type"] == "output")
    assert "Simulated sglang.bench_serving" in printed
    rows = read_text(printed.encode()).rows
    assert [row.value("output_tps") for row in rows] == [
        pytest.approx(level.output_tps, abs=0.006) for level in levels(run)
    ]
    told = {r["argv"][2] for r in load_log(run) if r["type"] == "level_start"}
    assert told == {"sglang.bench_serving"}


def test_a_command_of_the_teams_measures_a_run_with_prompts_of_its_own(scene: Scene) -> None:
    (scene.home / "load.py").write_text(SCRIPT)
    command = (
        f"python3 {scene.home}/load.py {{base_url}} {{model}} {{requests}} {{result}} {{prompts}}"
    )
    prompts = '{"prompt": "Tell me of {kit}."}\n{"prompt": "And of rivers."}\n'
    run = conduct(
        scene.run(
            driver="command",
            driver_settings={"command": command},
            prompt_set="file",
            prompts=prompts,
            temperature=None,
        )
    )
    assert (run.state, run.reason_text) == (State.SUCCEEDED, "")
    nothing_is_left(run, scene.port)
    for level in levels(run):
        assert (level.done, level.failed, level.output_tokens) == (3, 0, 24)
        assert level.output_tps == pytest.approx(24 / level.summary["duration_s"])
        assert level.summary["exit"]["code"] == 7  # kept, and no reason to throw the result away
        assert level.started == level.summary["started"]
    written = scene.home / ".local/state/throughline/runs" / str(run.uid) / "1/load/prompts.jsonl"
    assert json.loads(written.read_text().splitlines()[0]) == {"prompt": "Tell me of {kit}."}


def test_a_tool_that_dies_in_a_level_ends_the_run_with_its_words(scene: Scene) -> None:
    run = conduct(scene.run(**SGLANG, driver_settings={"extra_args": "--sim-fault exit:3"}))
    assert (run.state, run.reason) == (State.FAILED, Reason.LOAD_FAILED)
    assert "At concurrency 1: The tool ended with exit status 1 and told no result" in (
        run.reason_text
    )
    assert "the client gives up" in run.reason_text
    nothing_is_left(run, scene.port)
    assert {level.state for level in levels(run)} == {Level.State.CUT}
    assert all(level.output_tps is None for level in levels(run))


def test_a_tool_that_is_not_installed_is_named(scene: Scene) -> None:
    run = conduct(scene.run(**SGLANG, driver_settings={"program": "no-such-python"}))
    assert (run.state, run.reason) == (State.FAILED, Reason.LOAD_FAILED)
    assert "could not be started (cannot run no-such-python" in run.reason_text
    nothing_is_left(run, scene.port)


def test_failed_requests_are_counted_though_the_tool_ended_with_0(scene: Scene) -> None:
    run = conduct(scene.run(**SGLANG, driver_settings={"extra_args": "--sim-fault fail:2"}))
    assert (run.state, run.reason_text) == (State.SUCCEEDED, "")
    for level in levels(run):
        assert (level.requests, level.failed) == (8, 2)
        assert level.summary["completed"] == 6
        assert level.summary["exit"]["code"] == 0
    caveat = run.caveats.get(slug="failed-requests")
    assert "4 of 16 requests failed at level 1, 4" in caveat.text


def test_the_server_dying_under_a_tool_ends_the_run_as_with_the_probe(scene: Scene) -> None:
    long = {"levels": [4], "requests_per_level": 64, "max_tokens": 64}
    run = conduct(scene.run(**SGLANG | long, env={"SIM_FAULT": "die-after:2"}))
    assert (run.state, run.reason) == (State.FAILED, Reason.SERVER_DIED)
    nothing_is_left(run, scene.port)


STOPPING = """
import json, os, signal, sys, time
pid, out = int(open(sys.argv[1]).read().split()[0]), sys.argv[2]
begun = time.time()
open(out, "w").write(json.dumps({"throughline": 1, "requests": 3, "failed": 1, "output_tokens": 24,
                                 "duration_s": 1.0, "started": begun, "ended": begun + 1}))
os.kill(pid, signal.SIGSTOP)  # it lives, and answers nobody
"""


def test_a_server_that_answers_no_more_when_its_load_has_ended_well_did_not_succeed(
    scene: Scene,
) -> None:
    """As vLLM 0.32.0 did: its engine was killed, its client ended with 0, it went later itself."""
    (scene.home / "stopping.py").write_text(STOPPING)
    where = scene.home / "server.pid"
    command = f"python3 {scene.home}/stopping.py {where} {{result}}"

    async def tell_the_pid(conductor: Conductor, run: Run) -> None:
        await until_state(run, State.WAITING_READY)
        while not (server := (await run.attempts.alast()).server):  # type: ignore[union-attr]
            await asyncio.sleep(0.03)
        where.write_text(str(server["pid"]))

    told = {"driver": "command", "driver_settings": {"command": command}, "levels": [1]}
    run = conduct(scene.run(**told, prompt_set="script", temperature=None), tell_the_pid)
    assert (run.state, run.reason) == (State.FAILED, Reason.SERVER_DIED)
    assert "did not answer any more when its load had ended (timed out" in run.reason_text
    nothing_is_left(run, scene.port)


def test_an_imported_load_is_not_started(scene: Scene) -> None:
    with pytest.raises(Refused, match="This load was imported"):
        scene.run(driver="unknown")


def test_another_conductor_finds_the_first_half_of_a_level_in_what_is_stored(scene: Scene) -> None:
    long = {"levels": [2], "requests_per_level": 24, "max_tokens": 64}

    async def die(conductor: Conductor, run: Run) -> None:
        await until_state(run, State.MEASURING)
        while not await Level.objects.filter(attempt__run=run, done__gt=2).aexists():
            await asyncio.sleep(0.05)
        for task in list(conductor.telling.values()):
            task.cancel()  # as if the process had been killed: no claim is given back
        await Run.objects.filter(pk=run.pk).aupdate(claim_expires_at="2020-01-01T00:00:00Z")

    run = conduct(scene.run(**SGLANG | long), die)
    assert run.state == State.SUCCEEDED, run.reason_text
    assert run.claim_epoch == 2
    [level] = levels(run)
    assert (level.done, level.failed) == (24, 0)
    assert level.summary["tool"] == "sglang.bench_serving"
    assert level.output_tps
