"""Readiness against recorded answers of a real SGLang 0.5.20 (NGRAM, 4 draft tokens)."""

import json
from pathlib import Path

import pytest

from runs.engines.sglang.ready import Expected, judge, requests

HTTP = Path(__file__).parents[2] / "cases" / "sglang_http"
FLAGS = {
    "--model-path": "/srv/engines/model/smollm2-135m",
    "--served-model-name": "tiny",
    "--port": 8200,
    "--max-running-requests": 16,
    "--speculative-algorithm": "NGRAM",
    "--speculative-num-draft-tokens": 4,
}


def recorded(name: str) -> dict:
    head, _, body = (HTTP / f"sglang.{name}.http").read_text().partition("\n\n")
    return {"status": int(head.split()[1]), "body": body, "truncated": False, "error": None}


def said(text: str) -> dict:
    body = json.dumps({"choices": [{"message": {"content": text}}], "model": "tiny"})
    return {"status": 200, "body": body, "truncated": False, "error": None}


def answers(**changed: dict) -> dict:
    return {
        "health": recorded("get_health"),
        "model_info": recorded("get_model_info"),
        "server_info": recorded("get_server_info"),
        "generation": said("15 * 23 = 345."),
        **changed,
    }


def server_info(**changed: object) -> dict:
    info = json.loads(recorded("get_server_info")["body"])
    info.update(changed)
    return {"status": 200, "body": json.dumps(info), "truncated": False}


def test_it_asks_health_infos_and_one_question() -> None:
    asked = requests(Expected.of(FLAGS))
    assert [each["path"] for each in asked][:2] == ["/health", "/model_info"]
    assert asked[-1]["json"]["messages"][0]["content"] == "What is 15 * 23?"
    assert asked[-1]["json"]["max_tokens"] == 32
    assert asked[-1]["json"]["model"] == "tiny"


def test_the_server_meant_is_ready() -> None:
    found = judge(answers(), Expected.of(FLAGS))
    assert found.ready, found.detail
    assert (found.healthy, found.model_ok, found.args_ok, found.generation_ok) == (True,) * 4
    assert found.evidence["version"] == "0.5.20"
    assert found.evidence["compared"]["--max-running-requests"] == {"asked": 16, "told": 16}


def test_the_old_paths_do_as_well() -> None:
    given = answers()
    given["model_info_old"] = given.pop("model_info")
    given["server_info_old"] = given.pop("server_info")
    given["server_info"] = recorded("get_version")  # 404
    assert judge(given, Expected.of(FLAGS)).ready


def test_a_key_the_server_does_not_tell_is_named_and_not_taken_as_wrong() -> None:
    flags = {**FLAGS, "--mamba-scheduler-strategy": "extra_buffer"}
    found = judge(answers(), Expected.of(flags))
    assert found.ready
    assert found.evidence["not_told"] == ["--mamba-scheduler-strategy"]
    assert "not told: --mamba-scheduler-strategy" in found.detail


@pytest.mark.parametrize(
    ("changed", "part", "words"),
    [
        ({"health": {"status": 503, "body": ""}}, "healthy", "not healthy"),
        ({"health": {"status": None, "error": "refused"}}, "healthy", "not healthy"),
        ({"server_info": server_info(max_running_requests=48)}, "args_ok", "is 48 and not 16"),
        (
            {"server_info": server_info(speculative_num_draft_tokens=8)},
            "args_ok",
            "--speculative-num-draft-tokens is 8 and not 4",
        ),
        (
            {"server_info": server_info(speculative_algorithm=None)},
            "args_ok",
            "--speculative-algorithm is not given and not NGRAM",
        ),
        ({"server_info": {"status": 200, "body": "[]"}}, "args_ok", "not tell its arguments"),
        ({"server_info": {"status": 200, "body": "{", "truncated": True}}, "args_ok", "not tell"),
        ({"server_info": server_info(model_path="/other")}, "model_ok", "the model is"),
        (
            {"model_info": {"status": 200, "body": '{"model_path": "/srv/engines/model/old"}'}},
            "model_ok",
            "the model is /srv/engines/model/old and not",
        ),
        ({"generation": said("It is 1345 or 3450.")}, "generation_ok", "without 345"),
        ({"generation": recorded("err_unknown_model")}, "generation_ok", "Hello!"),
        ({"generation": {"status": 500, "body": "345"}}, "generation_ok", "generated nothing"),
        ({"generation": {}}, "generation_ok", "generated nothing"),
    ],
)
def test_another_server_is_not_ready(changed: dict, part: str, words: str) -> None:
    found = judge(answers(**changed), Expected.of(FLAGS))
    assert not found.ready
    assert not getattr(found, part)
    assert words in found.detail


def test_a_speculating_server_is_not_the_plain_one_that_was_meant() -> None:
    flags = {key: value for key, value in FLAGS.items() if "speculative" not in key}
    found = judge(answers(), Expected.of(flags))
    assert not found.args_ok
    assert "--speculative-algorithm is NGRAM and not not given" in found.detail


def test_nextn_is_resolved_to_eagle() -> None:
    flags = {"--model-path": FLAGS["--model-path"], "--speculative-algorithm": "NEXTN"}
    given = answers(server_info=server_info(speculative_algorithm="EAGLE"))
    assert judge(given, Expected.of(flags)).ready


def test_an_answer_in_the_reasoning_counts() -> None:
    message = {"content": None, "reasoning_content": "15*23 = 345"}
    body = json.dumps({"choices": [{"message": message}]})
    assert judge(answers(generation={"status": 200, "body": body}), Expected.of(FLAGS)).ready


def test_no_answers_at_all_is_not_ready_and_raises_nothing() -> None:
    assert not judge({}, Expected.of(FLAGS)).ready
