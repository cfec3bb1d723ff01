"""What the words around a table say of the servers that gave it."""

from __future__ import annotations

import json

import pytest

from runs.intake.build import plan
from runs.intake.plan import NO_HINTS, PlannedArm, Text
from runs.readers import read

TABLE = "| concurrency | output tok/s |\n|---|---|\n| 1 | 120 |\n| 4 | 300 |\n"
COMMAND = (
    "CUDA_VISIBLE_DEVICES=0,1 python -m sglang.launch_server --model-path /m/Orrin-70B --tp 2 "
    "--speculative-algorithm EAGLE --speculative-num-steps {}\n"
)
DECODE = (
    "[2025-11-30 {}] Decode batch. #running-req: 4, #token: 1000, token usage: 0.10, "
    "accept len: 2.40, cuda graph: True, gen throughput (token/s): 300.00, #queue-req: 0\n"
)


def arms(text: str) -> list[PlannedArm]:
    return list(plan([Text("a.txt", read(text.encode(), "a.txt"))], NO_HINTS).arms)


@pytest.mark.parametrize(
    ("caption", "engine", "version"),
    [
        ("sglang 0.5.9 on 2x H200\n", "sglang", "0.5.9"),
        ("vLLM v0.11.2, H100 x8\n", "vllm", "0.11.2"),
        ("sglang 0.5.9 against vllm 0.11.2\n", "unknown", None),
        ("sglang 0.5.9\nvllm 0.11.2\n", "unknown", None),
        ("on 2x H200\n", "unknown", None),
    ],
)
def test_the_caption_of_a_table_names_its_engine(
    caption: str, engine: str, version: str | None
) -> None:
    (arm,) = arms(caption + TABLE)
    assert arm.server.engine == engine
    assert arm.server.effective.get("version") == version


def test_an_arm_that_names_its_own_engine_takes_it_from_nobody_else() -> None:
    text = (
        "sglang 0.5.9\n| arm | concurrency | output tok/s |\n|---|---|---|\n"
        "| vLLM | 1 | 120 |\n| steps=2 | 1 | 300 |\n"
    )
    found = {arm.name: arm.server for arm in arms(text)}
    assert found["vLLM"].engine == "vllm" and not found["vLLM"].effective
    assert found["steps=2"].engine == "unknown"  # two engines stand there


def test_the_command_above_a_table_is_its_server() -> None:
    (arm,) = arms(COMMAND.format(3) + TABLE)
    server = arm.server
    assert (server.engine, server.model) == ("sglang", "/m/Orrin-70B")
    assert server.flags["--speculative-num-steps"] == 3 and server.flags["--tp"] == 2
    assert server.env == {"CUDA_VISIBLE_DEVICES": "0,1"}


def test_of_two_commands_above_a_table_none_is_its_server() -> None:
    (arm,) = arms(COMMAND.format(3) + "and\n" + COMMAND.format(2) + TABLE)
    assert (arm.server.engine, arm.server.flags, arm.server.env) == ("sglang", {}, {})


def test_a_row_that_says_otherwise_is_not_the_commands_server() -> None:
    text = (
        COMMAND.format(3) + "| steps | concurrency | output tok/s |\n|---|---|---|\n| 2 | 1 | 9 |\n"
    )
    (arm,) = arms(text)
    assert arm.server.flags == {"--speculative-num-steps": 2} and arm.server.env == {}


def test_each_of_two_servers_keeps_the_environment_before_its_command() -> None:
    other = COMMAND.format(2).replace("0,1", "2,3")
    text = COMMAND.format(3) + DECODE.format("10:00:00") + other + DECODE.format("11:00:00")
    assert [arm.server.env for arm in arms(text)] == [
        {"CUDA_VISIBLE_DEVICES": "0,1"},
        {"CUDA_VISIBLE_DEVICES": "2,3"},
    ]


def test_steps_of_vllm_stand_in_its_own_flag() -> None:
    text = (
        "| engine | steps | concurrency | output tok/s |\n|---|---|---|---|\n"
        "| vllm | 2 | 1 | 120 |\n| vllm | 3 | 1 | 130 |\n"
    )
    found = arms(text)
    assert [(arm.name, arm.server.engine) for arm in found] == [
        ("steps=2", "vllm"),
        ("steps=3", "vllm"),
    ]
    told = [json.loads(arm.server.flags["--speculative-config"]) for arm in found]
    assert told == [{"num_speculative_tokens": 2}, {"num_speculative_tokens": 3}]
    assert all(set(arm.server.flags) == {"--speculative-config"} for arm in found)
