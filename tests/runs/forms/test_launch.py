"""What the launch form makes of what is typed, and what it refuses where."""

from __future__ import annotations

from typing import Any

import pytest

from runs.forms.initial import initial_like
from runs.forms.launch import LaunchForm
from tests.factories import make_arm, make_campaign, make_host, make_workload

pytestmark = pytest.mark.django_db

TYPED: dict[str, Any] = {
    "question": "Does a second draft step pay?",
    "host": "llm-two",
    "engine": "sglang",
    "model_path": "/models/qwen",
    "port": "30000",
    "tp": "4",
    "speculative_algorithm": "NEXTN",
    "eagle_topk": "1",
    "steps": "1, 2",
    "driver": "probe",
    "cache_policy": "keep",
    "levels": "1, 4, 16",
    "requests_per_level": "32",
    "warmup_requests": "2",
    "prompt_set": "chat",
    "max_tokens": "256",
    "temperature": "0.7",
    "seed": "1",
    "request_timeout_s": "600",
    "repeats": "1",
}


def form(**changed: Any) -> LaunchForm:
    make_host("llm-two")
    told = LaunchForm({**TYPED, **changed})
    told.is_valid()
    return told


def test_each_number_of_steps_is_an_arm_and_draft_tokens_follow() -> None:
    told = form()
    assert told.errors == {}
    assert [arm.name for arm in told.arms] == ["steps=1", "steps=2"]
    assert [arm.flags["--speculative-num-draft-tokens"] for arm in told.arms] == [2, 3]
    assert "steps + 1" in told.arms[0].derived["--speculative-num-draft-tokens"]


def test_the_command_is_told_exactly_and_can_be_pasted() -> None:
    words = form(extra="--served-model-name 'my model'").arms[1].command.split("\\\n")
    assert [word.strip() for word in words] == [
        "python3 -m sglang.launch_server",
        "--model-path /models/qwen",
        "--tp 4",
        "--speculative-algorithm NEXTN",
        "--speculative-num-steps 2",
        "--speculative-eagle-topk 1",
        "--speculative-num-draft-tokens 3",
        "--served-model-name 'my model'",
        "--host 127.0.0.1",
        "--port 30000",
    ]


def test_zero_steps_is_the_server_without_speculation() -> None:
    first = form(steps="0, 1").arms[0]
    assert first.name == "no speculation"
    assert first.flags == {"--tp": 4}


def test_without_an_algorithm_there_is_one_plain_arm() -> None:
    (arm,) = form(speculative_algorithm="", steps="", eagle_topk="").arms
    assert arm.name == "no speculation"


def test_the_workload_is_what_was_typed() -> None:
    load = form(requests_per_level="8, 16, 64", ignore_eos="on", temperature="").workload()
    assert (load.levels, load.requests_per_level) == ([1, 4, 16], [8, 16, 64])
    assert (load.ignore_eos, load.temperature, load.driver) == (True, None, "probe")


@pytest.mark.parametrize(
    ("field", "changed", "reason"),
    [
        ("question", {"question": " "}, "Ask the question"),
        ("host", {"host": "elsewhere"}, "cannot be reached"),
        ("host", {"host": ""}, "Choose the machine"),
        ("model_path", {"model_path": ""}, "Name the model"),
        ("port", {"port": "80"}, "from 1,024 to 65,535"),
        ("tp", {"tp": "four"}, "whole number"),
        ("mem_fraction_static", {"mem_fraction_static": "1.5"}, "from 0.01 to 0.999"),
        ("steps", {"steps": "1, x"}, "“x” is not a whole number"),
        ("steps", {"steps": "1, 1"}, "twice"),
        ("steps", {"steps": "1,2,3,4,5,6,7"}, "At most 6"),
        ("steps", {"steps": ""}, "Say for which numbers"),
        ("steps", {"speculative_algorithm": ""}, "need a speculative algorithm"),
        ("draft_model_path", {"speculative_algorithm": "STANDALONE"}, "name it"),
        ("extra", {"extra": "tp 8"}, "no flag"),
        ("extra", {"extra": "--tp 8"}, "its own field"),
        ("extra", {"extra": "--port 1"}, "its own field"),
        ("extra", {"extra": "--host 0.0.0.0"}, "is set for every server"),
        ("extra", {"extra": "--api-key x"}, "secret"),
        ("extra", {"extra": "--name 'x"}, "quotation mark"),
        ("levels", {"levels": ""}, "at least one level"),
        ("levels", {"levels": "1, 1"}, "twice"),
        ("levels", {"levels": "5000"}, "from 1 to 4,096"),
        ("requests_per_level", {"requests_per_level": "8"}, "never keep 16 clients busy"),
        (
            "requests_per_level",
            {"requests_per_level": "2", "levels": "1, 8, 64"},
            "give at least 64",
        ),
        ("requests_per_level", {"requests_per_level": "8, 16"}, "Give one number, or 3"),
        ("input_tokens", {"input_tokens": "100"}, "nly synthetic prompts"),
        ("temperature", {"temperature": "3"}, "from 0 to 2"),
        ("repeats", {"repeats": "20", "steps": "1,2,3,4,5,6,"}, ""),
        ("repeats", {"repeats": "21"}, "from 1 to 20"),
    ],
)
def test_what_cannot_be_right_is_refused_where_it_is_typed(
    field: str, changed: dict[str, str], reason: str
) -> None:
    told = form(**changed)
    if not reason:
        assert field not in told.errors
        return
    assert reason in told.errors[field][0]
    assert list(told.errors) == [field]


def test_a_form_filled_in_from_an_arm_launches_that_arm_again() -> None:
    campaign = make_campaign()
    workload = make_workload(requests_per_level=[8, 16, 64])
    arms = [make_arm(campaign, f"steps={n}", steps=n, workload=workload) for n in (1, 2)]
    again = LaunchForm({**initial_like(arms[0]), "question": "Again?"})
    assert again.is_valid(), again.errors
    assert [arm.flags for arm in again.arms] == [arm.config.flags for arm in arms]
    assert again.workload().settings() == workload.settings()


def test_the_environment_stands_before_the_command_and_comes_back() -> None:
    told = form(env="PATH=/opt/sglang/bin:$PATH\nHF_HUB_OFFLINE=1")
    assert told.cleaned_data["env"] == {"PATH": "/opt/sglang/bin:$PATH", "HF_HUB_OFFLINE": "1"}
    assert told.arms[0].command.startswith(
        'PATH="/opt/sglang/bin:$PATH" \\\nHF_HUB_OFFLINE=1 \\\npython3 -m sglang.launch_server'
    )
    arm = make_arm(make_campaign(), "steps=1", steps=1)
    arm.config.env = told.cleaned_data["env"]
    again = LaunchForm({**initial_like(arm), "question": "Again?"})
    assert again.is_valid(), again.errors
    assert again.cleaned_data["env"] == arm.config.env


def test_vllm_has_the_same_fields_and_flags_of_its_own() -> None:
    told = form(
        engine="vllm",
        speculative_algorithm="EAGLE3",
        steps="0, 2",
        draft_model_path="/m/draft",
        max_running_requests="64",
        extra="-dp 2",
    )
    assert told.errors == {}
    plain, drafted = told.arms
    assert plain.flags == {
        "--tensor-parallel-size": 4, "--max-num-seqs": 64, "--data-parallel-size": 2,
    }  # fmt: skip
    assert '"num_speculative_tokens": 2' in drafted.flags["--speculative-config"]
    assert plain.command.startswith("vllm serve /models/qwen")
    wide = form(engine="vllm", eagle_topk="4", draft_model_path="/m")
    assert "chain" in wide.errors["eagle_topk"][0]
    odd = form(engine="vllm", speculative_algorithm="", steps="", extra="--model x")
    assert "has its own field" in odd.errors["extra"][0]


def test_a_smoke_test_of_ones_own_is_a_question_with_or_without_its_answer() -> None:
    assert form(smoke_question="Go on:").errors == {}
    assert "needs its question" in form(smoke_answer="Paris").errors["smoke_question"][0]


CLIENT = {"driver": "sglang_bench", "prompt_set": "random", "input_tokens": "512"}


def test_sharing_gpus_is_asked_for_and_proposed_again() -> None:
    assert form().cleaned_data["share_gpus"] is False
    told = form(share_gpus="on")
    assert told.cleaned_data["share_gpus"] is True
    arm = make_arm(make_campaign(share_gpus=True))
    assert initial_like(arm)["share_gpus"] is True


def test_a_drivers_own_settings_are_kept_and_those_of_others_are_not() -> None:
    told = form(
        **CLIENT, range_ratio="0.8", extra_args="--tag x", command="./x", cache_policy="flush"
    )
    assert told.errors == {}
    load = told.workload()
    assert (load.driver, load.cache_policy, load.prompt_set) == ("sglang_bench", "flush", "random")
    assert load.driver_settings == {"range_ratio": 0.8, "extra_args": "--tag x"}


def test_the_load_command_is_told_exactly_for_each_level() -> None:
    told = form(**CLIENT)
    job = told.job(base_url="http://127.0.0.1:30000", model="m", model_path="m")
    assert job is not None
    assert len(job.shown) == 3
    words = list(job.shown[2])
    assert words[:3] == ["python3", "-m", "sglang.bench_serving"]
    assert words[words.index("--max-concurrency") + 1] == "16"


def test_what_bends_the_numbers_is_named() -> None:
    told = form(**CLIENT, temperature="0", ignore_eos="on", range_ratio="0")
    fields = {each.field for each in told.named()}
    assert fields == {
        *("temperature", "ignore_eos", "prompt_set", "range_ratio", "cache_policy"),
        *("warmup_requests", "backend"),
    }


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"driver": "sglang_bench"}, "prompt_set", "Must be one of random"),
        ({**CLIENT, "temperature": ""}, "temperature", "this client sends 0"),
        ({"driver": "vllm_bench", "prompt_set": "random"}, "ignore_eos", "forces it"),
        ({"driver": "command", "prompt_set": "script"}, "command", "Name the program"),
        ({"driver": "command", "prompt_set": "script", "command": "x {y}"}, "command", "no {y}"),
        ({**CLIENT, "range_ratio": "2"}, "range_ratio", "from 0 to 1"),
        ({**CLIENT, "extra_args": "'"}, "extra_args", "quotation mark"),
        ({"prompt_set": "file"}, "prompts", "at least one prompt"),
        ({"prompt_set": "file", "prompts": '{"prompt": "a"}\nx'}, "prompts", "Line 2: not JSON"),
        ({"driver": "wrk"}, "driver", "valid choice"),
        ({"cache_policy": "burn"}, "cache_policy", "valid choice"),
    ],
)
def test_the_drivers_own_rules_are_told_at_the_field(
    changed: dict[str, str], field: str, words: str
) -> None:
    assert words in str(form(**changed).errors[field])


def test_a_client_is_proposed_again_as_it_was() -> None:
    load = form(
        **{**CLIENT, "prompt_set": "file", "input_tokens": ""},
        prompts='{"prompt": "a"}\n',
        request_rate="2.5",
        cache_policy="new-seed",
    ).workload()
    load.save()
    arm = make_arm(make_campaign(), "steps=1", steps=1, workload=load)
    again = LaunchForm(
        {**initial_like(arm), "question": "Again?", "repeats": "1", "host": "llm-two"}
    )
    assert again.is_valid(), again.errors
    assert again.workload().settings() == load.settings()
    assert again.workload().prompts == load.prompts
