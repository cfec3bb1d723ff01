"""What a text says of itself: commands, banners, requests, and text that loops."""

import time

import pytest

from runs.readers import read
from runs.readers.context import typed_settings
from runs.readers.loops import looping


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "sglang 0.5.15 on 8x MI355X (gfx950), ROCm 7.2",
            {"engine_version": "0.5.15", "gpu": "MI355X", "gpu_count": 8, "platform": "rocm"}
            | {"engines_told": ["sglang"]},
        ),
        (
            "SGLang v0.5.12.post1, 4×H200, CUDA 12.9",
            {"engine_version": "0.5.12.post1", "gpu": "H200", "gpu_count": 4, "platform": "cuda"}
            | {"engines_told": ["sglang"]},
        ),
        ("vllm 0.11.2, H100-SXM x8", {"engine_version": "0.11.2", "engines_told": ["vllm"]}),
        (
            "L40S x2, vllm==0.11.2",
            {"engine_version": "0.11.2", "gpu": "L40S", "gpu_count": 2, "engines_told": ["vllm"]},
        ),
        ("it is about 8x faster than before", {}),
        ("Restart vllm serve with --enable-scale-out to enable them.", {}),
        ('docker run -e SGLANG_SIMULATE_ACC_LEN="2.5" image', {"simulate_acc_len": 2.5}),
        ("      SGLANG_SIMULATE_ACC_LEN: '3.25'", {"simulate_acc_len": 3.25}),
        ("cuda graph: True", {}),
        (
            'curl x -d \'{"temperature": 0.6, "max_new_tokens": 64, "ignore_eos": true}\'',
            {"temperature": 0.6, "max_tokens": 64, "ignore_eos": True},
        ),
        ('curl x -d \'{"temperature": 0.', {}),
    ],
)
def test_settings_that_stand_in_a_line(text: str, told: dict) -> None:
    assert typed_settings(text) == told


def test_a_launch_command_keeps_unknown_flags_and_its_environment_without_secrets() -> None:
    found = typed_settings(
        "$ CUDA_VISIBLE_DEVICES=0,1 HF_TOKEN=hf_abcdefghijklmnop docker run --gpus all img python3 "
        "-m sglang.launch_server --model-path m --tp 2 --new-flag 7 --api-key abc123 2>&1 | tee x"
    )
    assert found["launch_flags"]["--tp"] == 2
    assert found["launch_flags"]["--new-flag"] in (7, "7")
    assert "--api-key" not in found["launch_flags"]
    assert found["environment"]["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert "abcdefgh" not in str(found)
    assert "abc123" not in str(found)


@pytest.mark.parametrize(
    "text",
    [
        "The committee agreed to the to the to the to the to the to the to the to the",
        "好的好的好的好的好的好的好的好的好的好的好的好的好的好的好的好的好的好的好的好的好的好的好的好的好的",
        "好的,我们继续。" * 12,
        "no no no no no no no no no no no no no no no no no no no no",
    ],
)
def test_text_that_loops_is_found(text: str) -> None:
    assert looping(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "=" * 80,
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        "100%|##########| 160/160 [01:01<00:00,  2.59it/s]",
        "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
        "a quick brown fox jumps over a lazy dog, and over it again, and over it again",
        "A" * 80,
        "...." * 30,
    ],
)
def test_rulers_numbers_and_prose_do_not_loop(text: str) -> None:
    assert looping(text) is None


def test_loops_are_looked_for_in_little_time() -> None:
    begin = time.process_time()
    for text in ("ab" * 50_000, "a b " * 20_000, "abcdefghijkl" * 5_000, "é" * 50_000):
        looping(text)
    assert time.process_time() - begin < 2


def test_begun_requests_and_dumps_take_little_time() -> None:
    begin = time.process_time()
    for text in ("curl -d '{" * 3 + "\n", "server_args=ServerArgs(" * 2000 + "\n"):
        data = (text * (300_000 // len(text))).encode()
        assert read(data, "x").samples == ()
    assert time.process_time() - begin < 3


@pytest.mark.parametrize(
    "flag",
    [
        '--speculative-config \'{"method": "eagle3", "num_speculative_tokens": 3}\'',
        "--speculative-config.method eagle3 --speculative-config.num_speculative_tokens 3",
    ],
)
def test_the_speculation_of_a_vllm_command_is_read_in_both_its_forms(flag: str) -> None:
    told = typed_settings(f"$ vllm serve /models/Finch-8B {flag} --tensor-parallel-size 2")
    assert told["spec_algorithm"] == "eagle3"
    assert told["num_speculative_tokens"] == 3
    assert told["tp"] == 2


def test_an_acceptance_that_vllm_makes_up_is_told_as_one() -> None:
    config = '{"num_speculative_tokens": 3, "synthetic_acceptance_length": 2.4}'
    told = typed_settings(f"$ vllm serve /m --speculative-config '{config}'")
    assert told["simulate_acc_len"] == 2.4


@pytest.mark.parametrize(
    ("command", "model"),
    [
        ("vllm serve meta/Finch-8B --max-num-seqs 64", "meta/Finch-8B"),
        ("vllm serve Finch-8B -tp 2", "Finch-8B"),
        ("$ vllm serve meta/Finch-8B", "meta/Finch-8B"),
        ("vllm serve --model meta/Finch-8B", "meta/Finch-8B"),
        ("vllm serve crashed at midnight", None),
        ("vllm serve --max-num-seqs 64", None),
    ],
)
def test_the_model_that_vllm_serve_names_without_a_flag_is_read(
    command: str, model: str | None
) -> None:
    assert typed_settings(command).get("model") == model
