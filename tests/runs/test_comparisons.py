"""Rows to a comparison: which launches count, what is said of them, what differs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from runs.comparisons import capped_words, compare_arms, pair
from runs.differences import chips, commands, coverage, differences
from runs.models import Arm, Attempt, Caveat, Level, Run, State
from runs.sides import side_of, side_of_run
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_config,
    make_level,
    make_measured_run,
    make_run,
    make_samples,
    make_stream,
    make_workload,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def arms() -> tuple[Arm, Arm]:
    campaign = make_campaign()
    workload = make_workload((1, 32))
    return (
        make_arm(campaign, "steps=1", steps=1, workload=workload),
        make_arm(campaign, "steps=2", steps=2, workload=workload),
    )


def limit(run_attempt: Attempt, requests: int) -> None:
    run_attempt.startup = {"max_running_requests": requests}
    run_attempt.save()


def test_the_showcase_figures_come_out_exactly(arms: tuple[Arm, Arm]) -> None:
    figures = {
        1: (122, 183, 123, 186),
        4: (400, 543, 119, 162),
        16: (1213, 1530, 85, 108),
        32: (1515, 1673, 63, 98),
        64: (1582, 1844, 66, 99),
    }
    for side, arm in enumerate(arms):
        attempt = make_attempt(make_run(arm))
        for concurrency, told in figures.items():
            make_level(attempt, concurrency, told[side], user_tps=told[side + 2])
    rows = compare_arms(arms).pairs[0].rows
    percents = [
        (
            row.concurrency,
            round(100 * (row.user.change or 0)),
            round(100 * (row.output.change or 0)),
        )
        for row in rows
    ]
    assert percents == [(1, 51, 50), (4, 36, 36), (16, 27, 26), (32, 56, 10), (64, 50, 17)]
    assert {row.word for row in rows} == {"a hint"}


def test_several_launches_give_their_mean(arms: tuple[Arm, Arm]) -> None:
    make_measured_run(arms[0], {1: 100.0})
    make_measured_run(arms[1], {1: 140.0})
    make_measured_run(arms[1], {1: 160.0})
    (row,) = compare_arms(arms).pairs[0].rows
    assert (row.output.after, row.output.change, row.output.launches_after) == (150.0, 0.5, 2)
    assert row.word == "a hint"  # the other side is a single launch


def test_a_missing_level_stays_missing(arms: tuple[Arm, Arm]) -> None:
    make_measured_run(arms[0], {1: 100.0, 32: 900.0})
    make_measured_run(arms[1], {1: 150.0})
    compared = compare_arms(arms)
    missing = compared.pairs[0].rows[1]
    assert (missing.output.before, missing.output.after, missing.output.change) == (
        900.0,
        None,
        None,
    )
    assert (missing.tone, missing.word) == ("none", "one side only")
    assert coverage(compared)[1].missing == [32]


def test_figures_per_user_are_the_headline_where_nothing_else_is_known(
    arms: tuple[Arm, Arm],
) -> None:
    for arm, user in zip(arms, (65.0, 70.0), strict=True):
        make_level(make_attempt(make_run(arm)), 1, None, user_tps=user)
    found = compare_arms(arms).pairs[0]
    assert found.rows[0].headline.metric == "user_tps"
    assert "tok/s per user" in found.sentence


def test_a_failed_launch_is_left_out_and_named(arms: tuple[Arm, Arm]) -> None:
    make_measured_run(arms[0], {1: 100.0})
    make_measured_run(arms[0], {1: 5.0}, state=State.FAILED)
    compared = compare_arms(arms)
    assert compared.base.mean("output_tps", 1) == 100.0
    assert [launch.run.state for launch in coverage(compared)[0].left_out] == ["failed"]


def test_a_running_arm_is_provisional(arms: tuple[Arm, Arm]) -> None:
    make_measured_run(arms[0], {1: 100.0})
    attempt = make_attempt(make_run(arms[1], state=State.MEASURING))
    make_level(attempt, 1, 150.0)
    make_level(attempt, 32, None, state=Level.State.RUNNING)
    found = compare_arms(arms).pairs[0]
    assert found.provisional
    assert [row.concurrency for row in found.rows] == [1]


def test_arms_without_any_launch_are_compared_to_nothing(arms: tuple[Arm, Arm]) -> None:
    found = compare_arms(arms).pairs[0]
    assert (found.rows, found.matched) == ([], 0)
    assert "share no concurrency level" in found.sentence


def test_a_running_limit_below_the_level_is_told(arms: tuple[Arm, Arm]) -> None:
    for arm, requests in zip(arms, (26, 21), strict=True):
        run = make_measured_run(arm, {1: 100.0, 32: 900.0})
        limit(run.attempts.get(), requests)
    compared = compare_arms(arms)
    first, last = compared.pairs[0].rows
    assert (first.capped, last.capped) == ("", "ran 26 and 21 of 32")
    assert "At 32 both arms run fewer" in compared.pairs[0].capped_levels
    assert ("running limit differs", False) in [(c.words, c.ok) for c in chips(compared)]
    rows, _ = differences(compared.pairs[0])
    incidental = [row for row in rows if row.group == "incidental"]
    assert [(row.key, row.before, row.after) for row in incidental] == [
        ("max_running_requests", "effective 26", "effective 21")
    ]


def test_what_an_import_could_not_read_of_the_flags_is_no_difference(
    arms: tuple[Arm, Arm],
) -> None:
    for arm, flags in zip(arms, (["--new"], ["--new", "--newer"]), strict=True):
        arm.config.effective = {"untyped_flags": flags}
        arm.config.save()
    rows, _ = differences(compare_arms(arms).pairs[0])
    assert "untyped_flags" not in {row.key for row in rows}


def test_an_unknown_limit_caps_nothing(arms: tuple[Arm, Arm]) -> None:
    make_measured_run(arms[0], {32: 900.0})
    assert capped_words(side_of(arms[0]), side_of(arms[1]), 32) == ""


def test_an_arm_without_the_level_is_not_capped_there(arms: tuple[Arm, Arm]) -> None:
    """Only the arm without a low limit was offered 128: nothing waited there."""
    for arm, requests, levels in zip(arms, (4096, 48), ((64, 128), (64,)), strict=True):
        run = make_measured_run(arm, dict.fromkeys(levels, 900.0))
        limit(run.attempts.get(), requests)
    found = compare_arms(arms).pairs[0]
    assert [row.capped for row in found.rows] == ["ran 64 and 48 of 64", ""]
    assert found.capped_levels.startswith("At 64 an arm runs fewer")


def test_a_capped_level_of_one_arm_alone_tells_what_that_arm_ran(arms: tuple[Arm, Arm]) -> None:
    for arm, requests, level in zip(arms, (26, 21), (16, 32), strict=True):
        limit(make_measured_run(arm, {level: 900.0}).attempts.get(), requests)
    assert [row.capped for row in compare_arms(arms).pairs[0].rows] == ["", "ran 21 of 32"]


def test_the_limit_asked_for_stands_beside_the_effective_one(arms: tuple[Arm, Arm]) -> None:
    for arm, requests in zip(arms, (26, 21), strict=True):
        arm.config.flags = {**arm.config.flags, "--max-running-requests": 128}
        arm.config.save()
        limit(make_measured_run(arm, {1: 100.0}).attempts.get(), requests)
    rows, _ = differences(compare_arms(arms).pairs[0])
    told = {row.key: (row.before, row.after) for row in rows}
    assert told["max_running_requests"] == ("asked 128 → effective 26", "asked 128 → effective 21")


def test_a_derived_flag_names_what_it_follows(arms: tuple[Arm, Arm]) -> None:
    rows, _ = differences(compare_arms(arms).pairs[0])
    why = {row.key: row.why for row in rows}
    assert why["--speculative-num-draft-tokens"].startswith("follows speculative-num-steps")


def test_another_workload_is_a_difference_and_a_warning(arms: tuple[Arm, Arm]) -> None:
    arms[1].workload = make_workload((1, 32), temperature=0.7)
    arms[1].save()
    compared = compare_arms(arms)
    rows, _ = differences(compared.pairs[0])
    assert ("temperature", "0.0", "0.7", "workload") in [
        (row.key, row.before, row.after, row.group) for row in rows
    ]
    assert "workload differs: temperature" in [chip.words for chip in chips(compared)]


def test_flags_that_the_engine_refuses_are_compared_as_they_stand(arms: tuple[Arm, Arm]) -> None:
    arms[1].config = make_config(flags={"--speculative-num-steps": 2})  # no algorithm: refused
    arms[1].save()
    compared = compare_arms(arms)
    rows, _ = differences(compared.pairs[0])
    assert "--speculative-num-steps" in [row.key for row in rows]
    assert commands(compared)[1][1].startswith(("python3", "--speculative-num-steps"))


def test_a_caveat_of_both_arms_is_told_once(arms: tuple[Arm, Arm]) -> None:
    for arm in arms:
        run = make_measured_run(arm, {1: 100.0})
        Caveat.objects.create(
            run=run, slug="greedy-sampling", text="Temperature 0.", evidence={"temperature": 0}
        )
    (group,) = compare_arms(arms).caveats
    assert (group.where, group.texts, group.evidence) == (
        "in both arms",
        ["Temperature 0."],
        ["temperature 0"],
    )
    assert group.experiment.changes == {"temperature": 0.7}


def test_a_caveat_of_a_launch_that_does_not_count_is_left_out(arms: tuple[Arm, Arm]) -> None:
    run = make_run(arms[0], state=State.FAILED)
    Caveat.objects.create(run=run, slug="queueing", text="It queued.")
    assert compare_arms(arms).caveats == []


def test_two_runs_are_compared_as_single_launches(arms: tuple[Arm, Arm]) -> None:
    first, second = (make_measured_run(arms[0], {1: tps}) for tps in (100.0, 110.0))
    found = pair(side_of_run(first), side_of_run(second))
    assert round(found.rows[0].output.change or 0, 6) == 0.1
    assert found.rows[0].output.launches_before == 1


def test_the_dots_of_a_row_stand_for_its_launches(arms: tuple[Arm, Arm]) -> None:
    make_measured_run(arms[0], {1: 100.0})
    make_measured_run(arms[1], {1: 150.0})
    make_measured_run(arms[1], {1: 200.0})
    (row,) = compare_arms(arms).pairs[0].rows
    assert [(dot.letter, dot.x) for dot in row.dots] == [("A", 8.0), ("B", 50.0), ("B", 92.0)]


def test_arms_that_ran_one_after_the_other_are_called_so(arms: tuple[Arm, Arm]) -> None:
    from datetime import timedelta

    from django.utils import timezone

    for i, arm in enumerate((arms[0], arms[0], arms[1], arms[1])):
        began = timezone.now() - timedelta(hours=9 - i)
        make_measured_run(arm, {1: 100.0}, started_at=began)
    assert "not interleaved: A A B B" in [chip.words for chip in chips(compare_arms(arms))]


def test_more_launches_cost_no_more_queries(
    arms: tuple[Arm, Arm], django_assert_max_num_queries: object
) -> None:
    for _ in range(4):
        for arm in arms:
            make_measured_run(arm, {1: 100.0, 32: 900.0})
    with django_assert_max_num_queries(14):  # type: ignore[operator]
        compared = compare_arms(arms)
        chips(compared)
        assert compared.caveats == []
        coverage(compared)


def test_an_excerpts_lines_are_held_against_the_baseline(arms: tuple[Arm, Arm]) -> None:
    make_level(make_attempt(make_run(arms[0], imported=True)), 1, 26.7)
    attempt = make_attempt(make_run(arms[1], imported=True))
    make_level(attempt, 1, None, user_tps=77.0)
    make_samples(make_stream(attempt), [71.44, 63.82], running=1)
    words = compare_arms(arms).pairs[0].by_lines
    assert "×2.4 to ×2.7" in words and "mean of 2 lines ×2.53" in words and "26.7" in words


def test_the_figures_of_a_sentence_are_set_off(arms: tuple[Arm, Arm]) -> None:
    make_measured_run(arms[0], {1: 65.0, 128: 1493.0})
    make_measured_run(arms[1], {1: 70.0, 128: 1146.0})
    told = compare_arms(arms).pairs[0].told
    assert [tone for text, tone in told if "8 %" in text or "23 %" in text] == ["up", "down"]


def test_drivers_settings_and_prompts_are_compared_under_their_names(
    arms: tuple[Arm, Arm],
) -> None:
    arms[1].workload = make_workload(
        (1, 32),
        driver="sglang_bench",
        cache_policy="flush",
        driver_settings={"range_ratio": 0.8},
        prompt_set="file",
        prompts='{"prompt": "a"}',
    )
    arms[1].save()
    rows, _ = differences(compare_arms(arms).pairs[0])
    told = {row.key: (row.before, row.after) for row in rows if row.group == "workload"}
    assert told["cache_policy"] == ("keep", "flush")
    assert told["driver"] == ("probe", "sglang_bench")
    assert told["range_ratio"][1] == "0.8"
    assert len(told["prompts"][1]) == 12


def three_each(arms: tuple[Arm, Arm], factor: float = 1.1, **level: object) -> None:
    """Three launches of each arm, A B B A A B, an hour apart."""
    spread = (1.0, 1.006, 0.994)
    hour = iter(range(6))
    for n, order in enumerate(("ab", "ba", "ab")):
        for letter in order:
            size = spread[n] * (factor if letter == "b" else 1.0)
            run = make_run(
                arms["ab".index(letter)],
                started_at=timezone.now() - timedelta(hours=9 - next(hour)),
            )
            attempt = make_attempt(run)
            for concurrency in (1, 32):
                make_level(attempt, concurrency, 100.0 * concurrency * size, **level)


def history(arm: Arm, *spreads: float) -> None:
    """Repeats of another arm on the same host, with the same engine and model."""
    past = make_arm(make_campaign("earlier"), "earlier", steps=3, workload=arm.workload)
    for spread in spreads:
        make_measured_run(past, {1: 100.0 * spread, 32: 3000.0 * spread})


def test_several_launches_are_judged_by_level_and_over_the_sweep(arms: tuple[Arm, Arm]) -> None:
    three_each(arms)
    found = compare_arms(arms).pairs[0]
    assert found.judged.paired
    assert [(row.word, row.glyph, row.tone) for row in found.rows] == [
        ("likely better", "+", "up"),
        ("likely better", "+", "up"),
    ]
    assert [(row.change_words, row.remark) for row in found.rows] == [
        ("+10.0 %", "assumed noise 1.5 %"),
        ("+10.0 %", "assumed noise 1.5 %"),
    ]
    assert found.sentence.startswith("steps=2 gives +10.0 % output tok/s against steps=1 over 2 ")
    assert found.sentence.endswith("3 launches each): likely better at every level.")
    assert ("+10.0 % output tok/s", "up") in found.told
    assert all(tone == "" for text, tone in found.told if "interval" in text)


def test_the_past_of_the_host_takes_the_likely_away(arms: tuple[Arm, Arm]) -> None:
    history(arms[0], 1.0, 1.01, 0.99, 1.005, 0.995)
    three_each(arms)
    found = compare_arms(arms).pairs[0]
    assert {row.word for row in found.rows} == {"clearly better"}
    assert found.judged.noise_words == "Noise 1.2 % a launch, from 4 earlier repeats on llm-two"
    assert found.judged.resolution_words.startswith("Resolution here: ")
    quiet = [row.verdict.noise.history for row in found.rows if row.verdict and row.verdict.noise]
    assert quiet == [4, 4]


def test_the_compared_launches_are_not_their_own_past(arms: tuple[Arm, Arm]) -> None:
    for arm in arms:
        for tps in (100.0, 101.0, 99.0, 100.5, 99.5):
            make_measured_run(arm, {1: tps})
    (row,) = compare_arms(arms).pairs[0].rows
    assert row.verdict is not None and row.verdict.noise is not None
    assert row.verdict.noise.assumed
    assert row.word == "likely no difference that matters"


def test_a_past_of_another_model_says_nothing(arms: tuple[Arm, Arm]) -> None:
    other = make_arm(
        make_campaign("earlier"), "earlier", config=make_config(1, model="/models/another")
    )
    for tps in (100.0, 101.0, 99.0, 100.5, 99.5):
        make_measured_run(other, {1: tps, 32: tps})
    three_each(arms)
    assert compare_arms(arms).pairs[0].judged.noise_words == "Noise assumed: 1.5 % a launch"


def test_launches_that_were_not_interleaved_are_not_paired(arms: tuple[Arm, Arm]) -> None:
    for arm, first in zip(arms, (0, 3), strict=True):
        for n in range(3):
            started = timezone.now() - timedelta(hours=9 - first - n)
            make_measured_run(arm, {1: 100.0 + n}, started_at=started)
    assert not compare_arms(arms).pairs[0].judged.paired


def test_failed_requests_make_a_level_unsafe(arms: tuple[Arm, Arm]) -> None:
    three_each(arms, failed=1)  # of 24
    found = compare_arms(arms).pairs[0]
    assert {row.word for row in found.rows} == {"unsafe"}
    assert "4 % of the requests failed in run" in found.rows[0].remark
    assert found.rows[0].tone == "none"
    assert found.rows[0].interval  # the figures stay
    assert found.told == [(found.sentence, "")]


def test_set_acceptance_forbids_a_conclusion_and_leaves_a_hint_a_hint(
    arms: tuple[Arm, Arm],
) -> None:
    three_each(arms)
    run = arms[1].runs.first()
    Caveat.objects.create(run=run, slug="simulated-acceptance", severity="block", text="Set.")
    assert {row.word for row in compare_arms(arms).pairs[0].rows} == {"unsafe"}
    Run.objects.filter(launch__gt=1).delete()
    assert {row.word for row in compare_arms(arms).pairs[0].rows} == {"a hint"}


def test_another_workload_is_not_comparable(arms: tuple[Arm, Arm]) -> None:
    arms[1].workload = make_workload((1, 32), max_tokens=1024)
    arms[1].save()
    three_each(arms)
    found = compare_arms(arms).pairs[0]
    assert {(row.word, row.glyph) for row in found.rows} == {("not comparable", "×")}
    assert found.rows[0].remark == "another workload: max tokens"


def test_a_slower_first_token_makes_the_sweep_mixed(arms: tuple[Arm, Arm]) -> None:
    three_each(arms)
    for arm, ttft in zip(arms, (0.1, 0.3), strict=True):
        Level.objects.filter(attempt__run__arm=arm).update(ttft_s=ttft)
    found = compare_arms(arms).pairs[0]
    assert "mixed, no single winner" in found.sentence
    assert "TTFT median worse at 1, 32" in found.sentence
    assert {row.word for row in found.rows} == {"likely better"}


def test_of_a_running_arm_nothing_is_judged(arms: tuple[Arm, Arm]) -> None:
    three_each(arms)
    arms[1].runs.update(state=State.MEASURING, ended_at=None)
    found = compare_arms(arms).pairs[0]
    assert found.provisional and "interval" not in found.sentence
    assert {row.verdict for row in found.rows} == {None}
