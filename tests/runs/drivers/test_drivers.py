"""Workloads to commands, and the sentences about what bends the numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runs.drivers.checks import WorkloadError
from runs.drivers.driver import Job
from runs.drivers.registry import DRIVERS, find_driver
from runs.engines.registry import ENGINES

PLAIN: dict[str, Any] = {
    "levels": [1, 8],
    "requests_per_level": 16,
    "warmup_requests": 2,
    "max_tokens": 64,
    "temperature": 0.7,
    "ignore_eos": False,
    "seed": 7,
}
OWN = {"prompt_set": "file", "prompts": '{"prompt": "Why {kit}?"}\n{"prompt": "How?"}\n'}
TALK = '{"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]}'


def start(driver: str, **changes: Any) -> Job:
    workload = {k: v for k, v in {**PLAIN, **changes}.items() if v is not None}
    return DRIVERS[driver].start(
        workload, base_url="http://127.0.0.1:30000", model="demo", model_path="/m/demo"
    )


def levels(job: Job) -> list[dict[str, Any]]:
    return list(json.loads(job.files["bench.json"])["levels"])


def flags(words: list[str]) -> dict[str, str]:
    """Each flag with the word behind it."""
    pairs = zip(words, [*words[1:], ""], strict=True)
    return {flag: value for flag, value in pairs if flag.startswith("--")}


def named(driver: str, **changes: Any) -> dict[str, str]:
    workload = {k: v for k, v in {**PLAIN, **changes}.items() if v is not None}
    return {each.field: each.text for each in DRIVERS[driver].defaults_named(workload)}


def refused(driver: str, **changes: Any) -> WorkloadError:
    with pytest.raises(WorkloadError) as caught:
        start(driver, **changes)
    return caught.value


def test_sglangs_client_is_told_everything_that_matters() -> None:
    job = start("sglang_bench", prompt_set="random", input_tokens=512)
    assert job.argv[-2:] == ("bench", "{job_dir}/bench.json")
    first, second = levels(job)
    assert first["argv"][:3] == ["python3", "-m", "sglang.bench_serving"]
    told = flags(second["argv"])
    assert (
        told
        | {
            "--backend": "sglang-oai-chat",
            "--base-url": "http://127.0.0.1:30000",
            "--model": "demo",
            "--tokenizer": "/m/demo",
            "--dataset-name": "random",
            "--random-input-len": "512",
            "--random-output-len": "64",
            "--random-range-ratio": "1",
            "--num-prompts": "16",
            "--max-concurrency": "8",
            "--seed": "7",
            "--warmup-requests": "2",
            "--output-file": "{job_dir}/level-1.jsonl",
        }
        == told
    )
    assert "--disable-ignore-eos" in told and "--output-details" not in told
    body = json.loads(told["--extra-request-body"])
    assert body == {"temperature": 0.7, "ignore_eos": False}
    assert (second["concurrency"], second["requests"], second["result"]) == (
        8, 16, "{job_dir}/level-1.jsonl",
    )  # fmt: skip


def test_the_native_back_end_has_its_own_way_to_say_it() -> None:
    told = flags(levels(start("sglang_bench", backend="sglang", ignore_eos=True))[0]["argv"])
    assert told["--temperature"] == "0.7"
    assert "--extra-request-body" not in told and "--disable-ignore-eos" not in told
    cold = flags(levels(start("sglang_bench", backend="sglang", temperature=0.0))[0]["argv"])
    assert "--temperature" not in cold  # releases before 0.5.13 know no such flag


def test_a_client_that_sends_zero_is_not_said_to_send_nothing() -> None:
    assert refused("sglang_bench", temperature=None).field == "temperature"
    told = flags(levels(start("vllm_bench", temperature=None, ignore_eos=True))[0]["argv"])
    assert "--temperature" not in told


def test_vllms_client_is_told_everything_that_matters() -> None:
    job = start("vllm_bench", ignore_eos=True, request_rate=2.5, extra_args="--metadata 'a=b c'")
    told = flags(levels(job)[1]["argv"])
    assert levels(job)[0]["argv"][:3] == ["vllm", "bench", "serve"]
    assert told["--endpoint"] == "/v1/chat/completions"
    assert (told["--request-rate"], told["--max-concurrency"]) == ("2.5", "8")
    assert (told["--random-range-ratio"], told["--result-filename"]) == ("0", "level-1.json")
    assert "--save-result" in told and "--ignore-eos" in told
    assert levels(job)[1]["argv"][-2:] == ["--metadata", "a=b c"]


def test_vllm_forces_the_end_of_random_prompts_and_that_must_be_said() -> None:
    assert refused("vllm_bench", ignore_eos=False).field == "ignore_eos"
    assert start("vllm_bench", ignore_eos=False, **OWN)


def test_a_new_seed_per_level_is_another_seed_in_each_command() -> None:
    job = start("sglang_bench", cache_policy="new-seed")
    assert [flags(each["argv"])["--seed"] for each in levels(job)] == ["7", "8"]
    assert json.loads(job.files["bench.json"])["cache"] == {"policy": "new-seed"}
    same = start("sglang_bench", cache_policy="flush")
    assert [flags(each["argv"])["--seed"] for each in levels(same)] == ["7", "7"]
    cache = json.loads(same.files["bench.json"])["cache"]
    assert cache == {"policy": "flush", "path": "/flush_cache", "hint": ""}


def test_a_command_gets_its_placeholders_and_no_shell() -> None:
    words = "./load.py --c {concurrency} -n {requests} --url {base_url}/v1 'a b;c' {model} {seed}"
    job = start("command", command=f"{words} -o {{result}} -t {{temperature}}")
    assert levels(job)[1]["argv"] == [
        "./load.py", "--c", "8", "-n", "16", "--url", "http://127.0.0.1:30000/v1", "a b;c", "demo",
        "7", "-o", "{job_dir}/level-1.json", "-t", "0.7",
    ]  # fmt: skip
    assert job.shown[0][:3] == ("./load.py", "--c", "1")
    assert "level-0.json" in job.shown[0]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("", "name the program"),
        ("x {concurency}", "there is no {concurency}"),
        ("x 'open", "quotation mark"),
        ("x {prompts}", "prompts of your own"),
    ],
)
def test_a_command_that_cannot_be_right_is_refused(command: str, reason: str) -> None:
    error = refused("command", command=command)
    assert reason in str(error)


def test_own_prompts_are_written_in_each_clients_form() -> None:
    probe = start("probe", **OWN)
    assert json.loads(probe.files["load.json"])["prompts_file"] == "prompts.jsonl"
    text = probe.files["prompts.jsonl"]
    assert "{kit}" not in text  # the node would put a path there
    assert [json.loads(line) for line in text.splitlines()] == [
        {"prompt": "Why {kit}?"}, {"prompt": "How?"},
    ]  # fmt: skip
    chat = start("sglang_bench", **OWN)
    written = [json.loads(line) for line in chat.files["prompts.jsonl"].splitlines()]
    assert len(written) == 16  # the client asks each line once
    assert written[0] == {
        "messages": [{"role": "user", "content": "Why {kit}?"}], "max_tokens": 64,
    }  # fmt: skip
    told = flags(levels(chat)[0]["argv"])
    assert (told["--dataset-name"], told["--dataset-path"]) == ("openai", "{job_dir}/prompts.jsonl")
    native = start("sglang_bench", backend="sglang", **OWN)
    first = json.loads(native.files["prompts.jsonl"].splitlines()[0])
    assert first["conversations"][0] == {"content": "Why {kit}?"}
    vllm = start("vllm_bench", **OWN)
    assert json.loads(vllm.files["prompts.jsonl"].splitlines()[1]) == {"prompt": "How?"}
    assert flags(levels(vllm)[0]["argv"])["--custom-output-len"] == "64"
    own = start("command", command="x {prompts}", **OWN)
    assert levels(own)[0]["argv"] == ["x", "{job_dir}/prompts.jsonl"]
    assert own.files["prompts.jsonl"] == text


def test_a_conversation_needs_a_route_that_takes_one() -> None:
    talk = {"prompt_set": "file", "prompts": TALK}
    assert start("sglang_bench", **talk)
    assert "conversation" in str(refused("sglang_bench", backend="sglang", **talk))
    assert "conversation" in str(refused("vllm_bench", **talk))


def test_a_flush_is_what_the_engine_calls_it_and_sglangs_client_flushes_after_its_warm_up() -> None:
    """The real client warms up with the first prompt: 98 of its 99 tokens were cached then."""
    workload = {**PLAIN, "prompt_set": "random", "cache_policy": "flush", "ignore_eos": True}
    address = {"base_url": "http://127.0.0.1:1", "model": "m", "model_path": "m"}
    for engine, path in (("sglang", "/flush_cache"), ("vllm", "/reset_prefix_cache")):
        reset = ENGINES[engine].cache_reset
        for driver in ("sglang_bench", "vllm_bench"):
            job = DRIVERS[driver].start(workload, **address, reset=reset)
            cache = json.loads(job.files["bench.json"])["cache"]
            assert (cache["policy"], cache["path"]) == ("flush", path)
            own = "--flush-cache" in levels(job)[0]["argv"]
            # vLLM answers that path with 404, of which the client dies
            assert own is (driver == "sglang_bench" and engine == "sglang")
    assert "VLLM_SERVER_DEV_MODE=1" in cache["hint"]
    kept = DRIVERS["vllm_bench"].start({**workload, "cache_policy": "keep"}, **address, reset=reset)
    assert json.loads(kept.files["bench.json"])["cache"] == {
        "policy": "keep", "counters": cache["counters"],
    }  # fmt: skip


def test_a_tool_gets_the_servers_environment_and_its_time_limit() -> None:
    job = start("vllm_bench", prompt_set="random", ignore_eos=True, level_timeout_s=90.0)
    assert job.in_server_env and not start("probe").in_server_env
    assert json.loads(job.files["bench.json"])["level_timeout_s"] == 90.0
    assert json.loads(start("sglang_bench").files["bench.json"])["level_timeout_s"] is None
    assert refused("command", command="x", level_timeout_s=0).field == "level_timeout_s"
    assert job.argv[1] == "-I"  # else PYTHONPATH of the server would reach the kit


def test_the_dangerous_defaults_are_named() -> None:
    told = named("sglang_bench", temperature=0.0, ignore_eos=True, range_ratio=0.0)
    assert set(told) == {
        "temperature",
        "ignore_eos",
        "prompt_set",
        "range_ratio",
        "cache_policy",
        "warmup_requests",
        "backend",
    }
    assert "50%" in told["range_ratio"] and "seed 7" in told["cache_policy"]
    quiet = named("sglang_bench", prompt_set="sharegpt", cache_policy="flush")
    assert quiet == {}
    assert "20% to 180%" in named("vllm_bench", range_ratio=0.8)["range_ratio"]
    assert "first prompt" in named("vllm_bench")["warmup_requests"]
    assert "16 requests from 2 prompts" in named("probe", **OWN)["prompts"]
    assert set(named("probe", temperature=None)) == {"temperature"}
    assert set(named("command", command="x")) == {"temperature", "seed", "cache_policy"}


def test_every_driver_has_its_own_prompts_as_the_last_choice() -> None:
    assert {driver.prompt_sets[-1] for driver in DRIVERS.values()} == {"file"}
    assert list(DRIVERS) == [driver.name for driver in DRIVERS.values()]


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("levels", [4, 4]),
        ("requests", [1]),
        ("requests_per_level", 0),
        ("temperature", 3),
        ("prompt_set", "poems"),
        ("prompts", "no JSON"),
        ("cache_policy", "burn"),
    ],
)
def test_a_wrong_field_is_refused_by_name(driver: str, field: str, value: Any) -> None:
    beside = {"ignore_eos": True, "command": "x {temperature}"}
    if field == "prompts":
        beside["prompt_set"] = "file"
    assert refused(driver, **{**beside, field: value}).field == field


def test_an_imported_load_cannot_be_started_and_says_why() -> None:
    with pytest.raises(WorkloadError, match="imported"):
        find_driver("unknown")
    with pytest.raises(WorkloadError, match="must be one of"):
        find_driver("wrk")
