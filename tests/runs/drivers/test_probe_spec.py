import pytest

from runs.drivers.probe import ARGV, WorkloadError, spec


def build(**workload: object) -> dict:
    return spec({"levels": [1, 4], **workload}, base_url="http://127.0.0.1:30000", model="m")


def test_it_writes_the_whole_specification() -> None:
    assert build(temperature=0, ignore_eos=True, requests_per_level=8, prompt_set="code") == {
        "base_url": "http://127.0.0.1:30000",
        "model": "m",
        "api": "chat",
        "levels": [1, 4],
        "requests_per_level": 8,
        "warmup_requests": 1,
        "temperature": 0.0,
        "ignore_eos": True,
        "seed": 1,
        "max_tokens": 256,
        "prompt_set": "code",
        "input_tokens": None,
        "prompts_file": None,
        "timeout_s": 600.0,
        "unique_prefix": True,
    }
    assert ARGV == ("{python}", "{kit}", "load", "{job_dir}/load.json")


def test_a_temperature_left_out_is_not_sent() -> None:
    assert build()["temperature"] is None


def test_requests_per_level_may_be_listed() -> None:
    built = build(requests=[8, 32])
    assert built["requests"] == [8, 32]
    assert "requests_per_level" not in built


def test_synthetic_prompts_have_a_length() -> None:
    assert build(prompt_set="synthetic")["input_tokens"] == 512


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("levels", []),
        ("levels", "1,4"),
        ("levels", [0]),
        ("levels", [4, 4]),
        ("levels", [True]),
        ("levels", [5000]),
        ("levels", list(range(1, 100))),
        ("requests", [1]),
        ("requests_per_level", 0),
        ("temperature", -1),
        ("temperature", "hot"),
        ("temperature", float("nan")),
        ("ignore_eos", 1),
        ("seed", -1),
        ("max_tokens", 1.5),
        ("prompt_set", "poems"),
        ("api", "grpc"),
        ("input_tokens", 100),
        ("timeout_s", 0),
        ("warmup_requests", None),
    ],
)
def test_it_refuses_a_field_that_cannot_be_right(field: str, value: object) -> None:
    with pytest.raises(WorkloadError) as refusal:
        build(**{field: value})
    assert refusal.value.field == field
    assert refusal.value.message
