"""vLLM as an engine: flags, command, readiness by recorded answers of 0.32.0, deaths by its log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runs.engines.registry import ENGINES
from runs.engines.sglang.flags import FlagError
from runs.engines.smoke import Smoke

CASES = Path(__file__).parents[2] / "cases"
MODEL = "/srv/engines/model/smollm2-135m"
VLLM = ENGINES["vllm"]


def recorded(name: str) -> dict[str, Any]:
    head, _, body = (CASES / "vllm_http" / f"vllm.{name}.http").read_text().partition("\n\n")
    return {"status": int(head.split()[1]), "body": body, "truncated": False, "error": None}


def said(text: str) -> dict[str, Any]:
    body = json.dumps({"choices": [{"message": {"content": text}}]})
    return {"status": 200, "body": body, "truncated": False, "error": None}


def judged(smoke: Smoke | None = None, served: str = "tiny", **changed: dict[str, Any]) -> Any:
    answers = {
        "health": recorded("get_health"),
        "models": recorded("get_v1_models"),
        "version": recorded("get_version"),
        "generation": said("It is 345."),
        **changed,
    }
    flags = {"--served-model-name": served}
    expected = VLLM.expected(flags, model=MODEL, smoke=smoke or Smoke())
    assert [each["name"] for each in VLLM.ready_requests(expected)] == list(answers)
    return VLLM.judge(answers, expected)


def test_the_command_names_the_model_first_and_stays_on_loopback() -> None:
    flags = VLLM.read_flags(["-tp", "2", "--max_model_len", "2048", "--enforce-eager"])
    assert VLLM.command(flags, model="/m/q", port=8000) == [
        "vllm", "serve", "/m/q", "--tensor-parallel-size", "2", "--max-model-len", "2048",
        "--enforce-eager", "--host", "127.0.0.1", "--port", "8000",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ["--api-key", "x"],
        ["--max-num-seqs", "0"],
        ["--gpu-memory-utilization", "1.5"],
        ["--speculative-config", "ngram"],
        ["--seed", "1", "--seed", "2"],
    ],
)
def test_flags_that_cannot_be_right_are_refused(words: list[str]) -> None:
    with pytest.raises(FlagError):
        VLLM.read_flags(words)


def test_speculation_is_one_flag_and_is_read_back_from_it() -> None:
    flags = VLLM.speculation("EAGLE3", steps=2, topk=1, draft="/m/draft")
    told = json.loads(flags["--speculative-config"])
    assert told == {"method": "eagle3", "model": "/m/draft", "num_speculative_tokens": 2}
    typed, rest = VLLM.untyped({**flags, "--max-num-seqs": 8, "--enforce-eager": True})
    assert typed == {
        "max_running_requests": 8,
        "speculative_algorithm": "EAGLE3",
        "steps": 2,
        "draft_model_path": "/m/draft",
    }
    assert rest == {"--enforce-eager": True}
    ngram = {"--speculative-config": '{"method": "ngram", "num_speculative_tokens": 3}'}
    assert VLLM.untyped(ngram) == ({}, ngram)
    again, _ = VLLM.rerun(flags, {"--speculative-num-steps": 3})
    assert json.loads(again["--speculative-config"])["num_speculative_tokens"] == 3


def test_the_server_meant_is_ready() -> None:
    found = judged()
    assert found.ready, found.detail
    assert found.evidence["version"] == "0.32.0"
    assert found.evidence["model_path"] == MODEL


def test_another_model_is_not_the_one_meant() -> None:
    found = judged(served="other")
    assert not found.ready and not found.model_ok and found.healthy
    assert f"it serves tiny of {MODEL} and not other" in found.detail


def test_a_server_that_has_not_told_its_models_is_not_wrong_yet() -> None:
    nothing = {"status": None, "body": "", "truncated": False, "error": "timed out"}
    found = judged(models=nothing, generation=nothing)
    assert not found.ready and not found.healthy


def test_a_question_of_ones_own_and_any_answer() -> None:
    talk = said("The capital of France is Paris.")
    assert "without 345" in judged(generation=talk).detail
    assert judged(Smoke("What is the capital of France?", "Paris"), generation=talk).ready
    assert judged(Smoke("Go on:", ""), generation=said("la la")).ready
    assert "generated nothing" in judged(Smoke("Go on:", ""), generation=said("")).detail


def test_the_log_of_a_real_server_is_read_in_any_pieces() -> None:
    data = (CASES / "real_logs" / "vllm_0.32.0_cpu_serve_bench_c8.log").read_bytes()
    whole, pieces = VLLM.log_reader(0, 0), VLLM.log_reader(0, 0)
    records = [*whole.feed(data), *whole.finish()]
    cut = [r for at in range(0, len(data), 997) for r in pieces.feed(data[at : at + 997])]
    assert [*cut, *pieces.finish()] == records
    assert any(getattr(each, "phase", "") == "interval" for each in records)
    facts = VLLM.startup_facts([r for r in records if hasattr(r, "kind")])
    assert (facts["version"], facts["ready"]) == ("0.32.0", True)
    assert facts["max_running_requests"] == 32


def test_why_a_real_server_died() -> None:
    log = CASES / "real_logs" / "vllm_0.32.0_cpu_enginecore_killed_midload.log"
    assert "died" in str(VLLM.explain_crash(log.read_text()))
    busy = "OSError: [Errno 98] Address already in use\n"
    assert "in use" in str(VLLM.explain_crash(busy + log.read_text()))
    assert VLLM.explain_crash("INFO: all is well\n") is None
