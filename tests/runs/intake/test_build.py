"""Readings as a plan: which launches there are, whose results are whose, what arms are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from runs.intake.build import plan
from runs.intake.plan import NO_HINTS, Hints, Plan, PlannedArm, Text
from runs.readers import read

ROOT = Path(__file__).parents[3]
FIELD = ROOT / "tests" / "field_cases"
RESULTS = ROOT / "tests" / "cases" / "results"
H200 = ROOT / "showcase" / "h200-standalone-steps"


def planned(*paths: Path, hints: Hints = NO_HINTS) -> Plan:
    return plan([Text(path.name, read(path.read_bytes(), path.name)) for path in paths], hints)


def case(number: int) -> Plan:
    return planned(*(p for p in FIELD.glob(f"{number:02}-*") if ".expect." not in p.name))


def levels(arm: PlannedArm) -> list[tuple[int | None, int]]:
    """(concurrency, earlier attempts) of the arm's first launch."""
    return [(level.row.concurrency, len(level.earlier)) for level in arm.launches[0].levels]


def test_two_lives_with_other_arguments_are_two_arms_with_their_own_lines() -> None:
    found = case(25)
    assert [arm.name for arm in found.arms] == ["steps=1", "steps=3"]
    assert found.host == "kestrel-03"
    one, two = (arm.launches[0] for arm in found.arms)
    assert {s.accept_len for s in one.samples} == {1.71, 1.72}
    assert {s.accept_len for s in two.samples} == {2.63, 2.66}
    assert [e.kind for e in one.events if e.kind == "server_args"] == ["server_args"]
    assert found.arms[1].server.flags["--speculative-num-draft-tokens"] == 4
    assert found.arms[0].server.model == "/models/Orrin-70B-Instruct"


def test_headings_of_a_paste_name_its_arms() -> None:
    found = case(43)
    assert [arm.name for arm in found.arms] == ["A", "B: no speculation"]
    assert found.arms[0].server.flags["--speculative-num-steps"] == 3
    assert found.arms[1].server.flags == {}


def test_a_second_run_of_the_same_server_is_an_attempt_at_the_same_point() -> None:
    (arm,) = case(49).arms
    assert levels(arm) == [(16, 1)]
    assert arm.launches[0].levels[0].row.value("output_tps") == 389.17
    assert len(arm.launches[0].samples) == 2


def test_a_sweep_in_one_paste_has_a_level_for_each_block_with_its_own_lines() -> None:
    (arm,) = case(55).arms
    assert levels(arm) == [(1, 0), (4, 0), (16, 0)]
    assert [level.running for level in arm.launches[0].levels] == [1, 4, 16]


def test_a_first_try_belongs_to_the_arm_beside_it() -> None:
    (arm,) = case(7).arms
    assert (arm.name, levels(arm)) == ("mtp2", [(8, 1), (32, 0), (64, 0)])


def test_repeats_of_two_arms_at_one_point_stay_with_their_arms() -> None:
    assert [(arm.name, levels(arm)) for arm in case(74).arms] == [
        ("steps=2", [(16, 2)]),
        ("steps=3", [(16, 2)]),
    ]


def test_a_table_of_arms_gives_each_its_levels() -> None:
    found = case(68)
    assert [arm.name for arm in found.arms] == ["off", "steps=1", "steps=2", "steps=3"]
    assert {len(arm.launches[0].levels) for arm in found.arms} == {5}


@pytest.mark.parametrize(
    ("name", "arms"),
    [
        ("comparison-arms-down.txt", ["off", "1", "2"]),  # a bare number may name an arm
        ("comparison-chinese.txt", ["关闭", "1步", "2步", "3步"]),
        ("one-batch-server.jsonl", ["s2", "off"]),
    ],
)
def test_a_number_in_an_arms_name_is_not_its_concurrency(name: str, arms: list[str]) -> None:
    assert sorted(a.name for a in planned(RESULTS / "own" / name).arms) == sorted(arms)


def test_results_in_several_files_of_one_sweep_are_one_arm(tmp_path: Path) -> None:
    block = next(FIELD.glob("05-*.txt")).read_text()
    for level in (8, 32):
        text = block.replace(
            "concurrency:                 16", f"concurrency:                 {level}"
        )
        (tmp_path / f"mtp_c{level}.txt").write_text(text)
    (arm,) = planned(*sorted(tmp_path.iterdir())).arms
    assert (arm.name, sorted(levels(arm))) == ("mtp", [(8, 0), (32, 0)])


def test_a_log_that_ends_in_a_crash_is_a_launch_that_died() -> None:
    log = ROOT / "tests" / "cases" / "real_logs" / "sglang_0.5.17_h200_X_port_busy.log"
    (arm,) = planned(log).arms
    assert arm.launches[0].samples == ()
    assert arm.launches[0].died.startswith("the port is already in use")


def test_rows_without_a_concurrency_are_kept_beside_the_levels() -> None:
    (arm,) = case(56).arms
    assert arm.launches[0].levels == ()
    assert len(arm.launches[0].loose) == 1


def test_llama_cpp_gives_its_requests() -> None:
    (arm,) = case(11).arms
    assert (arm.server.engine, len(arm.launches[0].requests)) == ("llamacpp", 1)


def test_vllms_own_dump_gives_its_flags_and_not_the_words_of_a_warning() -> None:
    log = ROOT / "tests" / "cases" / "real_logs" / "vllm_0.32.0_cpu_ngram_spec.log"
    (arm,) = planned(log).arms
    assert arm.server.engine == "vllm"
    assert arm.server.flags["--max-model-len"] == 2048
    assert "ngram" in str(arm.server.flags["--speculative-config"])
    assert "--enable-scale-out" not in arm.server.flags


def test_flags_that_are_not_known_by_type_are_kept_and_named() -> None:
    text = (
        "SGLANG_X=1 python -m sglang.launch_server --model-path m --tp 2 \\\n"
        "  --grammar-backend none\n"
        "[2026-01-01 00:00:01] Decode batch, #running-req: 1, #token: 8, token usage: 0.01, "
        "cuda graph: True, gen throughput (token/s): 71.44, #queue-req: 0\n"
    )
    (arm,) = plan([Text("a.log", read(text.encode(), "a.log"))], NO_HINTS).arms
    assert arm.server.flags == {"--tp": 2, "--grammar-backend": "none"}
    assert arm.server.untyped == ("--grammar-backend",)
    assert arm.server.env == {"SGLANG_X": "1"}
    assert arm.server.model == "m"


def test_logs_and_results_of_several_arms_are_paired_by_name() -> None:
    found = planned(*sorted(H200.iterdir()), hints=Hints({}, {"_t07": {"temperature": 0.7}}, {}))
    assert [arm.name for arm in found.arms] == [
        *("no-speculation", "steps=1", "steps=2", "steps=3"),
        *("no-speculation, temp=0.7", "no-speculation, in=4096, out=128"),
        "steps=3, temp=0.7",
    ]
    main = found.arms[3].launches[0]
    assert [level.row.concurrency for level in main.levels] == [1, 16, 64]
    assert len(main.clients) == 2  # the same run stands in the JSONL and in the client's output
    sixty_four = main.levels[2]
    assert sixty_four.window is not None and sixty_four.window.flushed
    assert (round(sixty_four.running or 0), round(sixty_four.waiting or 0)) == (47, 16)


def test_lines_of_another_workload_are_not_counted_for_the_sweep() -> None:
    paths = [H200 / "steps-3.bench.jsonl", H200 / "steps-3.server.log"]
    found = planned(*paths)
    whole = read(paths[1].read_bytes(), "steps-3.server.log").samples
    parts = [launch.samples for arm in found.arms for launch in arm.launches]
    assert sorted(s.line for part in parts for s in part) == [s.line for s in whole]
    assert len(parts) == 2 and all(parts)


@pytest.mark.parametrize(
    ("number", "driver", "settings"),
    [
        (5, "sglang_bench", {"backend": "sglang", "range_ratio": 1.0}),
        (10, "vllm_bench", {"backend": "openai-chat"}),
        (56, "vllm_bench", {"request_rate": 12.0}),
        (61, "genai-bench", {}),
    ],
)
def test_a_tool_that_we_drive_is_named_as_its_driver(
    number: int, driver: str, settings: dict
) -> None:
    """So that a launch like an import's begins with the driver that made its load."""
    client = case(number).arms[0].client
    assert client.driver == driver
    assert settings.items() <= client.driver_settings.items()


def test_a_vllm_command_keeps_its_model_and_the_names_that_vllm_takes() -> None:
    text = (
        "vllm serve meta/Finch-8B -tp 2 --max-num-seqs 64\n"
        "INFO 05-11 09:14:02 [loggers.py:259] Engine 000: Avg prompt throughput: 1033.1 tokens/s, "
        "Avg generation throughput: 812.4 tokens/s, Running: 32 reqs, Waiting: 0 reqs, GPU KV "
        "cache usage: 12.4%, Prefix cache hit rate: 3.1%\n"
    )
    (arm,) = plan([Text("a.log", read(text.encode(), "a.log"))], NO_HINTS).arms
    assert (arm.server.engine, arm.server.model) == ("vllm", "meta/Finch-8B")
    assert arm.server.flags["--tensor-parallel-size"] == 2
    assert not {"--tp", "--model", "--model-path"} & set(arm.server.flags)
