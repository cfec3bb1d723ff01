from runs.metrics.configdiff import Change, Config, config_diff

STEPS_1 = {
    "--tp": 4,
    "--speculative-algorithm": "NEXTN",
    "--speculative-num-steps": 1,
    "--speculative-eagle-topk": 1,
    "--speculative-num-draft-tokens": 2,
}
STEPS_2 = {**STEPS_1, "--speculative-num-steps": 2, "--speculative-num-draft-tokens": 3}


def test_it_tells_what_was_meant_what_came_along_and_what_surrounds() -> None:
    a = Config(STEPS_1, {"max_running_requests": 26, "context_len": 8192}, {"version": "0.5.17"})
    b = Config(STEPS_2, {"max_running_requests": 21, "context_len": 8192}, {"version": "0.5.20"})
    assert config_diff(a, b) == [
        Change("--speculative-num-steps", 1, 2, "intended", None),
        Change("--speculative-num-draft-tokens", 2, 3, "intended", "--speculative-num-steps"),
        Change("max_running_requests", 26, 21, "incidental", None),
        Change("version", "0.5.17", "0.5.20", "environment", None),
    ]


def test_two_spellings_of_one_flag_are_no_difference() -> None:
    assert config_diff(Config({"--tp": 4}, {}, {}), Config({"--tp-size": "4"}, {}, {})) == []


def test_a_value_that_only_one_side_tells_is_unknown_and_no_difference() -> None:
    assert config_diff(Config({}, {"kv": 1}, {"gpu": "x"}), Config({}, {}, {})) == []


def test_a_flag_that_only_one_side_has_is_a_difference() -> None:
    found = config_diff(Config({}, {}, {}), Config({"--disable-cuda-graph": True}, {}, {}))
    assert found == [Change("--disable-cuda-graph", None, True, "intended", None)]


def test_draft_tokens_of_a_tree_do_not_follow_from_the_steps() -> None:
    tree = {"--speculative-eagle-topk": 4}
    found = config_diff(Config({**STEPS_1, **tree}, {}, {}), Config({**STEPS_2, **tree}, {}, {}))
    assert [each.follows_from for each in found] == [None, None]
