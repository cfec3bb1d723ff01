"""Commands that a terminal folded, with nothing else in the text that tells its width."""

import pytest

from runs.readers import read
from runs.readers.carriers import PLAIN
from runs.readers.folded import Folded
from runs.readers.stream import Other

BENCH = (
    "$ python3 -m sglang.bench_serving --backend sglang --dataset-name random --random-input-len"
    " 1024 --random-output-len 512 --num-prompts 160 --max-concurrency 16 --seed 7"
)
CURL = (
    """$ curl -s http://kestrel-03:30000/v1/chat/completions -d '{"model": "default", """
    """"temperature": 0.7, "max_tokens": 600, "messages": [{"role": "user", "content": "a"}]}'"""
)
SPACE = "Namespace(backend='sglang', dataset_name='sharegpt', num_prompts=160, seed=7, tag='a (b)')"


def fold(text: str, width: int) -> list[str]:
    return [text[at : at + width] for at in range(0, len(text), width)]


def joined(lines: list[str]) -> list[str]:
    folded = Folded()
    given = []
    for number, line in enumerate(lines, start=1):
        given += folded.push(Other(line.encode(), PLAIN, 0, number, True))
    return [line.text.decode() for line, _ in [*given, *folded.flush()]]


@pytest.mark.parametrize("width", range(60, 130, 3))
@pytest.mark.parametrize("text", [BENCH, CURL, SPACE], ids=["flags", "quotes", "bracket"])
def test_a_command_is_one_line_at_any_width(text: str, width: int) -> None:
    if len(text) % width >= 3:  # of a last line of one letter nothing tells that it belongs here
        assert joined([*fold(text, width), "", "done"]) == [text, "", "done"]


def test_a_client_s_settings_are_read_from_a_folded_command() -> None:
    context = read("\n".join([*fold(BENCH, 80), "", ""]).encode(), "x").context
    assert (context["num_prompts"], context["seed"]) == (160, 7)


@pytest.mark.parametrize(
    "below",
    [
        "Killed",
        "Traceback (most recent call last):",
        "INFO: --tp is deprecated",
        "[2026-11-29 16:01:02] server_args=ServerArgs(tp_size=2)",
        "============ Serving Benchmark Result ============",
        "100%|##########| 160/160 [01:01<00:00,  2.59it/s]",
    ],
)
def test_what_a_program_prints_is_no_part_of_its_command(below: str) -> None:
    command = "$ python3 -m sglang.launch_server --model-path /models/Finch-8B --tp 2"
    assert joined([command, below]) == [command, below]
