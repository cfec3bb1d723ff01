"""Launch commands as people keep them: scripts, units, manifests, other shells, other engines."""

import json
from pathlib import Path

import pytest

from runs.readers import read

CASES = Path(__file__).parent / "launches"
NAMES = sorted(path.stem for path in CASES.glob("*.txt"))


@pytest.mark.parametrize("name", NAMES)
def test_a_command_gives_its_engine_model_flags_and_environment(name: str) -> None:
    expected = json.loads((CASES / f"{name}.expect.json").read_text())
    context = read((CASES / f"{name}.txt").read_bytes(), name).context
    assert expected["engine"] in context["engines_told"]
    assert context["launch_flags"] == expected["flags"]
    assert context.get("environment", {}) == expected["environment"]


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_command_has_no_flag_and_no_variable_that_the_whole_has_not(name: str) -> None:
    whole = (CASES / f"{name}.txt").read_bytes()
    context = read(whole, name).context
    flags, environment = context["launch_flags"], context.get("environment", {})
    for cut in range(0, len(whole), 3):
        told = read(whole[:cut], name).context
        assert told.get("launch_flags", {}).keys() <= flags.keys(), whole[:cut][-80:]
        assert told.get("environment", {}).items() <= environment.items(), whole[:cut][-80:]


def test_lines_behind_a_command_are_not_its_rest() -> None:
    command = (
        "ExecStart=/opt/v/bin/python -m sglang.launch_server --model-path a/b --log-level info"
    )
    for behind in ("Restart=on-failure", "[Install]", "mira 412 0.0 0.1 grep --color=auto x"):
        flags = read(f"{command}\n{behind}\n".encode(), "x").context["launch_flags"]
        assert flags == {"--model-path": "a/b", "--log-level": "info"}


def test_a_variable_that_is_not_known_stays_as_it_is_written() -> None:
    text = b"A=1\nvllm serve a/b --tensor-parallel-size $A --port ${P:-8001} --seed $S\n"
    flags = read(text, "x").context["launch_flags"]
    assert flags == {"--model-path": "a/b", "--tp": 1, "--port": 8001, "--seed": "$S"}


@pytest.mark.parametrize(
    "text",
    [
        "We ran llama-server -ngl 99 and saw 40 tok/s; trtllm-serve - slower.",
        "I use vllm/vllm-openai:latest - it works.",
        "image: fine\ncommand: nothing\nargs: none\n",
    ],
)
def test_prose_is_no_command(text: str) -> None:
    assert "launch_flags" not in read(f"{text}\n".encode(), "x").context
