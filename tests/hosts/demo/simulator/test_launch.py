from __future__ import annotations

import pytest

from hosts.demo.simulator.launch import BadFlags, Launch, parse
from hosts.demo.simulator.model import Speculation
from hosts.demo.simulator.shapes import captured_batches, captured_prefills


def parsed(text: str) -> Launch:
    return parse(["--model-path", "demo/model", *text.split()])


def test_aliases_and_abbreviations_mean_the_same() -> None:
    assert parsed("--tp 2")["tp_size"] == 2
    assert parsed("--tp-size 2")["tp_size"] == 2
    assert parsed("--tensor-parallel-size 2")["tp_size"] == 2
    assert parse(["--model", "other"])["model_path"] == "other"


def test_defaults_are_resolved() -> None:
    launch = parsed("")
    assert launch["served_model_name"] == "demo/model"
    assert launch["mem_fraction_static"] == 0.84
    assert launch["decode_log_interval"] == 40
    assert launch["max_running_requests"] is None
    assert launch.speculation == Speculation(0, 1, 1)


def test_topk_one_forces_the_draft_tokens_and_says_so() -> None:
    launch = parsed(
        "--speculative-algorithm NEXTN --speculative-num-steps 2 --speculative-eagle-topk 1 "
        "--speculative-num-draft-tokens 8"
    )
    assert launch["speculative_num_draft_tokens"] == 3
    assert (
        "speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 "
        "when speculative_eagle_topk == 1"
    ) in launch.notes


def test_a_tree_keeps_its_draft_tokens() -> None:
    launch = parsed(
        "--speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 4 "
        "--speculative-num-draft-tokens 16"
    )
    assert launch.speculation == Speculation(3, 4, 16)


@pytest.mark.parametrize(
    ("model", "algorithm", "triple"),
    [("demo/model", "NEXTN", (3, 1, 4)), ("demo/llama-8b", "EAGLE", (5, 4, 8))],
)
def test_steps_unset_means_the_automatic_triple(
    model: str, algorithm: str, triple: tuple[int, int, int]
) -> None:
    launch = parse(["--model-path", model, "--speculative-algorithm", algorithm])
    assert launch.speculation == Speculation(*triple)


def test_topk_without_steps_is_a_bad_combination() -> None:
    with pytest.raises(BadFlags, match="must be unset"):
        parsed("--speculative-algorithm NEXTN --speculative-eagle-topk 1")


def test_a_standalone_draft_needs_its_model() -> None:
    with pytest.raises(BadFlags, match="draft-model-path"):
        parsed("--speculative-algorithm STANDALONE")


def test_speculation_resets_the_running_limit_to_48_unless_given() -> None:
    launch = parsed("--speculative-algorithm NEXTN")
    assert launch["max_running_requests"] == 48
    assert launch.asked_limit is None
    assert launch.notes[0].startswith("Max running requests is reset to 48 for speculative")
    given = parsed("--speculative-algorithm NEXTN --max-running-requests 32")
    assert given.asked_limit == given["max_running_requests"] == 32
    assert not any("reset to 48" in note for note in given.notes)


def test_nextn_is_an_alias_of_eagle() -> None:
    assert parsed("--speculative-algorithm NEXTN")["speculative_algorithm"] == "EAGLE"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--no-such-flag 3", "unrecognized arguments: --no-such-flag"),
        ("--cuda-graph-max-bs 8", "ambiguous option: --cuda-graph-max-bs could match"),
        ("--port eighty", "invalid int value: 'eighty'"),
        ("--speculative-algorithm MAGIC", "invalid choice: 'MAGIC'"),
    ],
)
def test_flags_argparse_refuses_end_with_status_2(
    flags: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parsed(flags)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "flags",
    ["--dp-size 2", "--tp-size 0", "--mem-fraction-static 1.5", "--max-running-requests 0"],
)
def test_values_that_cannot_be_simulated_are_refused(flags: str) -> None:
    with pytest.raises(BadFlags):
        parsed(flags)


def test_without_a_seed_each_launch_has_its_own() -> None:
    assert parsed("").seed != parsed("").seed
    assert parsed("--random-seed 5").seed == 5


def test_captured_sizes_end_at_the_limit_and_vanish_without_graphs() -> None:
    assert captured_batches(parsed(""), 64)[-3:] == [48, 56, 64]
    assert captured_batches(parsed("--speculative-algorithm NEXTN"), 21)[-2:] == [20, 21]
    assert captured_batches(parsed("--cuda-graph-max-bs-decode 8"), 64) == [1, 2, 4, 8]
    assert captured_batches(parsed("--disable-cuda-graph"), 64) == []
    assert captured_prefills(parsed("--disable-cuda-graph")) == []
    assert captured_batches(parsed("--cuda-graph-backend-decode disabled"), 64) == []
    assert captured_prefills(parsed(""))[-1] == 8192
