import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.engines.sglang.flags import SPECS, FlagError
from runs.engines.sglang.launch import (
    Derived,
    FlagChange,
    command,
    derive,
    flag_diff,
    from_tokens,
    override,
    parse,
    rerun,
    validate,
)

STEPS_2 = {
    "--tp": 4,
    "--speculative-algorithm": "NEXTN",
    "--speculative-num-steps": 2,
    "--speculative-eagle-topk": 1,
    "--speculative-num-draft-tokens": 3,
}


def test_it_writes_the_launch_command() -> None:
    words = command({"--model-path": "/m/it's", "--port": "30000", "--disable-cuda-graph": True})
    assert words == [
        *("python3", "-m", "sglang.launch_server"),
        *("--model-path", "/m/it's", "--port", "30000", "--disable-cuda-graph"),
    ]


def test_it_reads_the_command_of_a_recorded_launch_and_writes_it_again() -> None:
    line = (
        "python -m sglang.launch_server --model-path /home/bench/b/models/llama-8b "
        "--attention-backend triton --sampling-backend pytorch --enable-metrics --random-seed 1 "
        "--port 30000 --speculative-algorithm STANDALONE --speculative-num-steps 3 "
        "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4 --cuda-graph-bs 1 2 4"
    )
    flags = from_tokens(shlex.split(line))
    assert flags["--random-seed"] == 1
    assert flags["--enable-metrics"] is True
    assert flags["--cuda-graph-bs"] == ["1", "2", "4"]
    assert command(flags, python="python") == shlex.split(line)


_VALUES = {
    "int": st.integers(1, 64),
    "float": st.sampled_from([0.5, 0.85, 0.903]),
    "switch": st.just(True),
    "str": st.text("abc/-. '\"$;é", min_size=1).filter(lambda text: text.strip() == text),
}


@given(
    st.lists(st.sampled_from(sorted(SPECS)), unique=True).flatmap(
        lambda flags: st.fixed_dictionaries({flag: _VALUES[SPECS[flag].form] for flag in flags})
    )
)
def test_what_it_writes_it_reads_back(flags: dict) -> None:
    flags = {key: value for key, value in flags.items() if not key.startswith("--speculative")}
    flags["--model-path"] = "/m"
    assert from_tokens(command(flags)) == flags


def test_it_gives_typed_fields_and_keeps_the_rest_as_raw_tokens() -> None:
    args = parse({**STEPS_2, "--mamba-scheduler-strategy": "extra_buffer", "--foo": True})
    assert (args.tp, args.speculative_num_steps, args.model_path) == (4, 2, None)
    assert args.extra == ("--mamba-scheduler-strategy", "extra_buffer", "--foo")


@pytest.mark.parametrize(
    ("flags", "flag", "words"),
    [
        ({"--port": "30k"}, "--port", "whole number"),
        ({"--port": 70000}, "--port", "from 1 to 65535"),
        ({"--port": True}, "--port", "needs a value"),
        ({"--mem-fraction-static": 1.5}, "--mem-fraction-static", "from 0.01"),
        ({"--mem-fraction-static": "nan"}, "--mem-fraction-static", "must be a number"),
        ({"--disable-cuda-graph": "yes"}, "--disable-cuda-graph", "takes no value"),
        ({"--speculative-num-steps": 2}, "--speculative-num-steps", "needs --speculative-algor"),
        ({"--model-path": "/m\n--port 1"}, "--model-path", "line break"),
        ({"--foo": "a\x00b"}, "--foo", "control character"),
        ({"--api-key": "k"}, "--api-key", "secret"),
        ({"-m": "x"}, "-m", "not a flag"),
        ({"--foo bar": "x"}, "--foo bar", "not a flag"),
        ({"--tp": 2, "--tp-size": 2}, "--tp-size", "same as another"),
        ({"--foo": {"a": 1}}, "--foo", "must have a text"),
    ],
)
def test_it_refuses_a_flag_that_cannot_be_right(flags: dict, flag: str, words: str) -> None:
    with pytest.raises(FlagError) as refusal:
        validate(flags)
    assert refusal.value.flag == flag
    assert words in refusal.value.message


def test_it_refuses_to_start_without_a_model() -> None:
    with pytest.raises(FlagError, match="--model-path: is needed"):
        command(STEPS_2)


def test_topk_1_makes_draft_tokens_steps_plus_1_and_says_so() -> None:
    flags, changes = derive({**STEPS_2, "--speculative-num-steps": 3})
    assert flags["--speculative-num-draft-tokens"] == 4
    assert changes == [
        Derived(
            "--speculative-num-draft-tokens",
            3,
            4,
            "with topk 1 the draft is a chain: draft tokens = steps + 1",
        )
    ]


def test_a_tree_and_a_block_drafter_keep_their_draft_tokens() -> None:
    tree = {**STEPS_2, "--speculative-eagle-topk": 4, "--speculative-num-draft-tokens": 16}
    block = {"--speculative-algorithm": "DFLASH", "--speculative-num-draft-tokens": 8}
    assert derive(tree) == (tree, [])
    assert derive(block) == (block, [])


def test_rerun_steps_3_offers_steps_3_and_draft_tokens_4() -> None:
    again = rerun(STEPS_2, {"steps": 3})
    assert again.asked == (FlagChange("--speculative-num-steps", 2, 3),)
    assert [(each.key, each.old, each.new) for each in again.derived] == [
        ("--speculative-num-draft-tokens", 3, 4)
    ]
    assert again.flags == {
        **STEPS_2,
        "--speculative-num-steps": 3,
        "--speculative-num-draft-tokens": 4,
    }


def test_rerun_without_the_algorithm_drops_what_depends_on_it() -> None:
    again = rerun(STEPS_2, {"algorithm": None})
    assert again.flags == {"--tp": 4}
    assert again.asked == (FlagChange("--speculative-algorithm", "NEXTN", None),)
    assert len(again.derived) == 3


def test_a_chip_is_read_or_refused() -> None:
    assert override("steps=3") == {"--speculative-num-steps": "3"}
    assert override("--tp-size=8") == {"--tp": "8"}
    for text in ("steps", "steps=", "=3"):
        with pytest.raises(FlagError):
            override(text)


def test_it_lists_the_flags_that_differ() -> None:
    changed = {**STEPS_2, "--tensor-parallel-size": "8", "--disable-cuda-graph": True}
    del changed["--tp"]
    assert flag_diff(STEPS_2, changed) == [
        FlagChange("--tp", 4, 8),
        FlagChange("--disable-cuda-graph", None, True),
    ]
