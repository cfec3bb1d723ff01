"""Real files of real tools: every metric under its canonical name, with the tool's formula."""

import json

import pytest

from runs.readers.results import ResultReading, ResultRow, field_case_row
from tests.runs.readers.results.conftest import CASES, SHOWCASE, read_any

FILES = CASES / "files"


def read(name: str) -> ResultReading:
    found = read_any((FILES / name).read_bytes())
    assert found.damaged == ()
    return found


def values(row: ResultRow, *keys: str) -> list[float | None]:
    return [row.value(key) for key in keys]


def test_guidellms_itl_is_a_tpot_and_its_tpot_another_metric() -> None:
    rows = read("guidellm-0.8.1_benchmarks.json").rows
    assert [row.concurrency for row in rows] == [1, 4]
    first = rows[0]
    assert first.value("tpot_mean") == pytest.approx(0.011023791631)
    assert first.metrics["tpot_mean"].native_name == "inter_token_latency_ms.mean"
    assert first.metrics["tpot_mean"].converted
    assert first.value("tpot_incl_first_mean") == pytest.approx(0.013763600960)
    assert first.metrics["tpot_incl_first_mean"].native_name == "time_per_output_token_ms.mean"
    assert not any(key.startswith("itl") for key in first.metrics)
    assert first.value("output_tps") == pytest.approx(70.80033132)
    assert first.concurrency_measured == pytest.approx(0.9820418)
    assert first.context["warmup_duration_s"] == 0.0
    assert values(first, "completed", "failed", "e2e_p99_9") == [8, 0, pytest.approx(0.228963852)]


def test_aiperfs_itl_is_a_tpot_and_its_chunk_gap_the_itl() -> None:
    (row,) = read("aiperf-0.13.0_profile_export_aiperf.json").rows
    assert row.metrics["tpot_mean"].native_name == "inter_token_latency.avg"
    assert row.value("tpot_mean") == pytest.approx(0.0029970102)
    assert row.metrics["itl_mean"].native_name == "inter_chunk_latency.avg"
    assert row.value("itl_mean") == pytest.approx(0.0112062120)
    assert (row.tool_version, row.concurrency) == ("0.13.0", 4)
    assert values(row, "output_tps", "user_tps_mean") == pytest.approx([1070.4268, 333.713046])
    shown = field_case_row(row)
    assert shown["itl_ms_mean"] == shown["tpot_ms_mean"] == pytest.approx(2.9970102)
    assert shown["icl_ms_mean"] == pytest.approx(11.206212)
    assert row.context["ignore_eos"] is True
    assert "time_to_second_token (ms)" in row.other


def test_vllms_itl_is_the_gap_between_chunks() -> None:
    (row,) = read("vllm_bench_ngram_c4.json").rows
    assert values(row, "itl_mean", "tpot_mean", "accept_len", "accept_rate") == pytest.approx(
        [0.016333867, 0.006396493, 3.353299017, 0.8157339822]
    )
    assert "chunks" in row.metrics["itl_mean"].formula
    assert "chunks" in row.metrics["peak_output_tps"].formula
    assert [row.value(f"accept_at_{n}") for n in range(3)] == pytest.approx(
        [0.8975198877, 0.7627515208, 0.6930276088]
    )
    (printed,) = read("vllm_bench_ngram_c4.txt").rows
    assert printed.value("accept_len") == 3.35
    assert printed.value("itl_mean") == pytest.approx(0.01633)


def test_a_finite_rate_is_kept() -> None:
    (row,) = read("vllm-0.33.0_bench_serve_rate20.json").rows
    assert (row.concurrency, row.context["request_rate"]) == (4, 20.0)
    assert row.other["latencies_count"] == 16


def test_a_sweeps_csv_gives_a_row_a_run() -> None:
    rows = read("vllm-0.33.0_sweep_serve_summary.csv").rows
    assert [(row.name, row.concurrency) for row in rows] == [
        ("itl10", 1),
        ("itl10", 4),
        ("itl5", 1),
        ("itl5", 4),
    ]
    assert rows[0].tool == "vllm.bench_serve"
    assert rows[1].value("output_tps") == pytest.approx(281.2632158)
    assert rows[1].value("e2e_p50") == pytest.approx(0.2270730435)


def test_genai_bench_is_in_seconds() -> None:
    name = "genai-bench-0.0.5_D32_16_text-to-text_num_concurrency_4_time_2s.json"
    (row,) = read(name).rows
    assert values(row, "ttft_mean", "tpot_p99", "e2e_mean") == pytest.approx(
        [0.061910795, 0.011763706, 0.227909481]
    )
    assert not row.metrics["ttft_mean"].converted
    assert values(row, "completed", "failed", "requests") == [32, 0, 32]


def test_genai_benchs_metadata_gives_settings_without_the_key() -> None:
    found = read("genai-bench-0.0.5_experiment_metadata.json")
    assert found.rows == ()
    assert found.context["max_concurrency"] == [1, 4]
    assert (found.context["engine"], found.context["gpu"]) == ("vLLM", "H100")
    assert "cmd" not in found.context
    assert "api_key" not in found.context


@pytest.mark.parametrize("key", ["x", "sk-abcdefghijklmnop", "plainword"])
def test_no_key_of_the_metadata_is_kept(key: str) -> None:
    told = json.loads((FILES / "genai-bench-0.0.5_experiment_metadata.json").read_text())
    told["cmd"] = told["cmd"].replace("--api-key x", f"--api-key {key}-secret")
    told["auth_config"] = {"api_key": f"{key}-secret", "has_api_key": True}
    assert f"{key}-secret" not in repr(read_any(json.dumps(told).encode()))


def test_servebench_gives_a_row_a_level() -> None:
    rows = read("servebench-1.1.3_run.json").rows
    assert [row.concurrency for row in rows] == [1, 4]
    assert values(rows[1], "output_tps", "tpot_p50") == pytest.approx([263.727, 0.0118], rel=0.01)
    assert rows[0].context["temperature"] == 0.0
    assert rows[0].other["tokens_per_chunk"] == 1.0


def test_a_client_whose_server_died_says_that_requests_failed() -> None:
    found = read("sgl_bench_killed.txt")
    (row,) = found.rows
    assert (row.concurrency, row.value("failed"), row.context["status"]) == (24, 60, "failed")
    assert row.value("output_tps") is None
    assert [each.count for each in found.failures] == [60, None]
    assert "ClientConnectorError" in found.failures[0].text
    assert found.failures[1].text.startswith("the client ended without a result")


def test_failed_requests_are_read_though_the_tool_ended_with_status_0() -> None:
    found = read("vllm_bench_midload_kill.txt")
    (row,) = found.rows
    assert values(row, "completed", "failed") == [80, 16]
    assert [each.text for each in found.failures] == ["16 requests failed: Internal Server Error"]
    assert (found.context["temperature"], found.context["ignore_eos"]) == (0.9, True)


@pytest.mark.parametrize("name", ["sgl_bench_native_c8.txt", "sgl_bench_ngram_c8.txt"])
def test_progress_bars_hide_no_block(name: str) -> None:
    (row,) = read(name).rows
    assert (row.concurrency, row.value("completed")) == (8, 48)
    assert row.context["dataset"] == "random-ids"


def test_block_and_jsonl_of_one_run_agree() -> None:
    (printed,) = read("sgl_bench_ngram_c8.txt").rows
    (stored,) = read("sgl_bench_ngram_c8.jsonl").rows
    shared = set(printed.metrics) & set(stored.metrics)
    assert len(shared) >= 25
    for key in shared:
        assert printed.value(key) == pytest.approx(stored.value(key), abs=0.0051)
    assert stored.context["spec_algorithm"] == "NGRAM"
    assert stored.metrics["accept_len_cumulative"].formula.startswith("mean of the server")


TOLD = {
    "no-speculation": (205, 2426, 5945, None),
    "steps-1": (255, 2034, 3098, 1.81),
    "steps-2": (309, 2430, 3717, 2.43),
    "steps-3": (338, 2783, 4105, 2.94),
}


@pytest.mark.parametrize("arm", TOLD)
def test_the_h200_records_give_the_published_numbers(arm: str) -> None:
    found = read_any((SHOWCASE / f"{arm}.bench.jsonl").read_bytes())
    sweep = {row.concurrency: row for row in found.rows if "variant" not in row.context}
    *speeds, accept_len = TOLD[arm]
    assert [round(sweep[c].value("output_tps") or 0) for c in (1, 16, 64)] == speeds
    told = sweep[1].value("accept_len_cumulative")
    assert (None if told is None else round(told, 2)) == accept_len
    assert all(row.context["latest"] for row in found.rows)


def test_six_records_are_the_sweep_and_two_are_not() -> None:
    rows = read_any((SHOWCASE / "no-speculation.bench.jsonl").read_bytes()).rows
    assert [row.concurrency for row in rows if "variant" not in row.context] == [
        *(1, 4, 16, 32, 64, 128)
    ]
    assert [(row.name, row.context["variant"]) for row in rows if "variant" in row.context] == [
        ("c16_t07", "t07"),
        ("c8_in4096", "in4096"),
    ]


def test_every_attempt_is_kept_and_the_latest_marked() -> None:
    rows = read_any((CASES / "field" / "07-bench-serving-jsonl-sweep.jsonl").read_bytes()).rows
    assert [(row.concurrency, row.context["attempt"], row.context["latest"]) for row in rows] == [
        (8, 1, False),
        (8, 2, True),
        (32, 1, True),
        (64, 1, True),
    ]
