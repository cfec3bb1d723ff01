"""Logs of real servers, counted a second time by grep: same lines, same sums, their deaths."""

import json
import re
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from runs.readers import read
from runs.readers.reading import Reading

ROOT = Path(__file__).parents[3]
LOGS = sorted((ROOT / "tests" / "cases" / "real_logs").glob("*.log"))
LOGS += sorted((ROOT / "showcase" / "h200-standalone-steps").glob("*.log"))


def grep(pattern: str, path: Path) -> list[str]:
    """What grep finds, one match a line: another program's opinion."""
    command = ["grep", "-a", "-o", "-E", pattern, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.splitlines()


def total(pattern: str, path: Path) -> float:
    return sum(float(re.findall(r"[0-9.]+", each)[-1]) for each in grep(pattern, path))


@cache
def reading(path: Path) -> Reading:
    return read(path.read_bytes(), path.name)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_batch_and_interval_lines_are_those_that_grep_finds(path: Path) -> None:
    found = reading(path)
    phases = Counter(each.phase for each in found.samples)
    assert phases["decode"] == len(grep("Decode batch", path))
    assert phases["prefill"] == len(grep("Prefill batch", path))
    assert phases["interval"] == len(grep("Avg prompt throughput", path))
    assert phases["spec_interval"] == len(grep("SpecDecoding metrics", path))
    assert found.damaged == ()


FIELDS = [
    ("decode", "output_tps", r"gen throughput \(token/s\): [0-9.]+"),
    ("decode", "accept_len", r"accept len: [0-9.]+"),
    ("prefill", "new_tokens", r"#new-token: [0-9]+"),
    ("prefill", "cached_tokens", r"#cached-token: [0-9]+"),
    ("interval", "output_tps", r"Avg generation throughput: [0-9.]+"),
    ("interval", "input_tps", r"Avg prompt throughput: [0-9.]+"),
    ("spec_interval", "accept_len", r"Mean acceptance length: [0-9.]+"),
]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
@pytest.mark.parametrize(("phase", "field", "pattern"), FIELDS, ids=lambda each: str(each)[:24])
def test_sums_are_those_of_grep(path: Path, phase: str, field: str, pattern: str) -> None:
    lines = [each for each in reading(path).samples if each.phase == phase]
    assert sum(getattr(each, field) or 0 for each in lines) == pytest.approx(total(pattern, path))


DEATHS = {
    "sglang_0.5.17_h200_C0_standalone_failed_deep_gemm_import": {"exception", "teardown"},
    "sglang_0.5.17_h200_X_port_busy": {"port-in-use"},
    "sglang_0.5.17_h200_Y_oom_mem_fraction_0.995": {"exception", "out-of-memory", "teardown"},
    "sglang_0.5.20_cpu_retract_then_scheduler_killed": {"subprocess-died", "teardown"},
    "sglang_0.5.20_startup_assertion_dp2_numa": {"exception", "subprocess-died"},
    "vllm_0.32.0_cpu_enginecore_killed_midload": {"engine-died", "engine-dead"},
}


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_deaths_are_events_and_a_stop_that_was_asked_for_is_none(path: Path) -> None:
    events = [each for each in reading(path).events if each.kind in ("crash", "port_in_use")]
    assert {each.data["slug"] for each in events} == DEATHS.get(path.stem, set())


def test_the_killed_scheduler_retracted_before_and_said_its_exit_code() -> None:
    path = next(each for each in LOGS if "retract_then" in each.name)
    found = reading(path)
    retracted = [each.data["requests"] for each in found.events if each.kind == "retraction"]
    assert len(retracted) == len(grep("#retracted_reqs", path)) == 5
    assert (
        sum(retracted) == total("#retracted_reqs: [0-9]+", path) == found.derived["retracted_total"]
    )
    assert -9 in [each.data.get("exit_code") for each in found.events]
    assert {"retraction", "kv-pressure"} <= {each.slug for each in found.caveats}


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_what_a_server_says_at_its_start_is_there(path: Path) -> None:
    found = reading(path)
    kinds = Counter(each.kind for each in found.events)
    assert kinds["server_args"] == 1
    ready = "fired up and ready|^INFO: +Application startup complete" if "vllm" in path.name else ""
    assert kinds["server_ready"] == len(grep(ready or "fired up and ready", path))
    if "sglang" in path.name and "startup_assertion" not in path.name:
        assert kinds["weights_loaded"] == len(grep("Load weight end", path))
        assert kinds["kv_cache_allocated"] == len(grep("KV Cache is allocated", path))
        assert kinds["capacity"] == len(grep("max_total_num_tokens=[0-9]+, ", path))
    if found.samples:
        assert found.context["max_running_requests" if "vllm" not in path.name else "model"]


def test_every_answer_is_strict_json() -> None:
    for path in LOGS:
        json.dumps(reading(path).as_json(), allow_nan=False)
