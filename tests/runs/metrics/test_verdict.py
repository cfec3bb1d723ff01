"""Every word of the closed list, and what may stand in its way."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from runs.metrics.noise import Noise
from runs.metrics.sentence import verdict_lines, verdict_sentence
from runs.metrics.verdict import Case, Judgement, smallest_that_matters, verdict
from runs.metrics.wording import GLYPHS, Word, tone_of

KNOWN = Noise(0.012, 8)
A, B = (3742, 3801, 3768), (3905, 3871, 3948)


def launches(*values: float, level: int = 16) -> list[dict[int, float]]:
    return [{level: value} for value in values]


def case(before: Sequence[float], after: Sequence[float], **more: object) -> Case:
    plain = Case(launches(*before), launches(*after), noise={16: KNOWN})
    return replace(plain, **more)  # type: ignore[arg-type]


def word(before: Sequence[float], after: Sequence[float], **more: object) -> str:
    judged = verdict(case(before, after, **more))
    assert judged.sweep.text == judged.levels[0].text  # one level is the whole sweep
    return judged.sweep.text


def test_the_first_vector_is_better() -> None:
    assert word(A, B) == "better"


def test_the_second_vector_is_clearly_better() -> None:
    noise = {16: Noise(0.010 / 2**0.5, 8)}
    told = word((3742, 3801, 3768, 3715), (3871, 3948, 3905, 3828), noise=noise, paired=True)
    assert told == "clearly better"


@pytest.mark.parametrize(
    ("factor", "told", "turned"),
    [
        (1.100, "clearly better", "clearly worse"),
        (1.028, "better", "worse"),
        (1.019, "real but small", "real but small loss"),
        (1.004, "no difference that matters", "no difference that matters"),
    ],
)
def test_every_size_has_its_word_in_both_directions(factor: float, told: str, turned: str) -> None:
    quiet = {16: Noise(0.006, 8)}
    after = [value * factor for value in (3742, 3760, 3751)]
    assert word((3742, 3760, 3751), after, noise=quiet) == told
    assert word(after, (3742, 3760, 3751), noise=quiet) == turned


def test_what_spreads_too_much_cannot_be_told_and_says_how_much_is_missing() -> None:
    found = verdict(case((100, 103, 97), (102, 105.06, 98.94))).sweep
    assert (found.word, found.likely) == (Word.CANNOT_TELL, False)
    assert found.more == 17 - 3  # the table: 17 launches find 2 % at a noise of 2 %
    assert found.p is not None and found.p > 0.05


def test_a_hopeless_wish_asks_for_a_better_method() -> None:
    loud = {16: Noise(0.08, 8)}
    judged = verdict(case((100, 110, 92), (101, 112, 93), noise=loud))
    assert "improve the method" in verdict_sentence(judged, "output_tps", "A", "B")


def test_without_a_past_words_are_likely_at_most() -> None:
    assert word(A, B, noise={}) == "likely better"
    assert word((100, 100.1, 99.9), (150, 150.1, 149.9), noise={}) == "likely better"
    five = (100, 100.1, 99.9, 100, 100.1)
    assert word(five, five, noise={}) == "likely no difference that matters"


def test_two_launches_are_likely_at_most() -> None:
    assert word(A[:2], (4200, 4230)) == "likely better"
    assert word((4200, 4230), A[:2]) == "likely worse"


def test_a_single_launch_is_a_hint_whatever_its_size() -> None:
    large, small = verdict(case((100,), B)).sweep, verdict(case((3800,), (3805,))).sweep
    assert (large.word, small.word) == (Word.HINT, Word.HINT)
    assert large.remarks == ("larger than the usual noise",)
    assert small.remarks == ("within the usual noise",)
    assert (large.low, large.p) == (None, None)
    assert large.ratio == pytest.approx(39.08, abs=0.01)


def test_smaller_is_better_for_a_time() -> None:
    noise = {16: Noise(0.01, 8)}
    told = verdict(
        case((0.100, 0.101, 0.099), (0.05, 0.051, 0.049), metric="ttft_p50", noise=noise)
    )
    assert told.sweep.text == "clearly better"
    assert told.sweep.ratio == pytest.approx(0.5, abs=0.01)  # after over before, all the same
    assert told.delta == 0.03


def test_a_metric_without_a_good_direction_has_no_verdict() -> None:
    with pytest.raises(ValueError, match="no direction"):
        verdict(case(A, B, metric="running"))


@pytest.mark.parametrize(
    ("metric", "delta"),
    [("output_tps", 0.02), ("ttft_p50", 0.03), ("ttft_p99", 0.05), ("accept_len", 0.01)],
)
def test_what_matters_depends_on_the_metric(metric: str, delta: float) -> None:
    assert smallest_that_matters(metric) == delta


def test_many_levels_ask_for_more_of_each() -> None:
    """One level just below 5 % is no find among six of which five show nothing."""
    levels = (1, 4, 8, 16, 32, 64)
    same = {level: 100.0 for level in levels if level != 16}
    before = [{**same, 16: value} for value in (100, 101, 99)]
    after = [{**same, 16: value * 1.024} for value in (100, 101, 99)]
    noise = dict.fromkeys(levels, KNOWN)
    judged = verdict(Case(before, after, noise=noise))
    at = judged.at(16)
    assert at is not None and at.p is not None and at.p_adjusted is not None
    assert at.p < 0.05 < at.p_adjusted
    assert at.word is Word.CANNOT_TELL
    alone = verdict(Case(launches(100, 101, 99), [{16: a[16]} for a in after], noise=noise))
    assert alone.sweep.word is Word.BETTER


def test_beside_the_headline_one_find_in_ten_may_be_false() -> None:
    """Three of six levels at p of 0.02: too little for Holm, enough to suggest something."""
    levels = (1, 4, 8, 16, 32, 64)
    before = [dict.fromkeys(levels, value) for value in (100.0, 101.0, 99.0)]
    after = [
        {level: value * (1.025 if level > 8 else 1.0) for level, value in launch.items()}
        for launch in before
    ]
    case = Case(before, after, noise=dict.fromkeys(levels, KNOWN))
    at, suggested = verdict(case).at(16), verdict(replace(case, exploratory=True)).at(16)
    assert at is not None and suggested is not None
    assert (at.p, at.low, at.high) == (suggested.p, suggested.low, suggested.high)
    assert at.word is Word.CANNOT_TELL
    assert suggested.word is Word.BETTER
    strict = verdict(replace(case, exploratory=True)).at(1)
    assert strict is not None and strict.word in (Word.SAME, Word.CANNOT_TELL)


def test_clearly_better_must_hold_for_all_levels_at_once() -> None:
    levels = (1, 4, 8, 16, 32, 64)
    before = [dict.fromkeys(levels, value) for value in (100.0, 101.0, 99.0)]
    after = [dict.fromkeys(levels, value * 1.045) for value in (100.0, 101.0, 99.0)]
    noise = dict.fromkeys(levels, KNOWN)
    assert {each.word for each in verdict(Case(before, after, noise=noise)).levels} == {Word.BETTER}
    one = [{16: each[16]} for each in before], [{16: each[16]} for each in after]
    assert verdict(Case(*one, noise=noise)).sweep.word is Word.CLEARLY_BETTER


def sweep(*ratios: float, missing: int | None = None) -> Judgement:
    levels = (1, 16, 64)
    spread = (1.0, 1.006, 0.994)
    before = [{level: 100 * level * s for level in levels} for s in spread]
    after = [
        {level: 100 * level * s * r for level, r in zip(levels, ratios, strict=True)}
        for s in spread
    ]
    if missing is not None:
        del after[1][missing]
    noise = dict.fromkeys(levels, Noise(0.008, 8))
    return verdict(Case(before, after, noise=noise))


def test_the_sweep_is_judged_by_the_means_of_launches() -> None:
    judged = sweep(1.5, 1.3, 1.1)
    assert judged.sweep.word is Word.CLEARLY_BETTER
    assert judged.sweep.ratio == pytest.approx((1.5 * 1.3 * 1.1) ** (1 / 3))
    assert len(judged.sweep.before) == 3
    said = verdict_sentence(judged, "output_tps", "steps=1", "steps=2")
    assert said.startswith("steps=2 gives +29.0 % output tok/s against steps=1 over 3 levels (95 %")
    assert said.endswith("3 launches each): clearly better at every level.")


def test_levels_that_contradict_each_other_have_no_single_winner() -> None:
    judged = sweep(1.65, 1.15, 0.69)
    assert [each.text for each in judged.levels] == [
        "clearly better", "clearly better", "clearly worse",
    ]  # fmt: skip
    assert judged.sweep.word is Word.MIXED
    said = verdict_sentence(judged, "output_tps", "A", "B")
    assert "mixed, no single winner; clearly better at 1 and 16, clearly worse at 64." in said


def test_levels_that_not_every_launch_measured_are_left_out_of_the_sweep() -> None:
    judged = sweep(1.5, 1.3, 1.1, missing=16)
    assert judged.sweep.ratio == pytest.approx((1.5 * 1.1) ** 0.5)
    assert judged.matched == (1, 16, 64)
    assert judged.sweep.remarks == ("incomplete sweep: not every launch measured 16",)


def test_a_sweep_that_cannot_tell_says_so_once() -> None:
    said = verdict_sentence(sweep(1.001, 0.999, 1.0), "output_tps", "A", "B")
    assert said.endswith(": no difference that matters at every level.")
    loud = dict.fromkeys((1, 16), Noise(0.03, 8))
    before, after = [[{1: v, 16: v} for v in each] for each in ((100, 103, 97), (102, 105, 99))]
    said = verdict_sentence(verdict(Case(before, after, noise=loud)), "output_tps", "A", "B")
    assert ": cannot tell at any level; " in said


def test_launches_that_share_no_level_make_no_sweep() -> None:
    noise = {1: KNOWN, 2: KNOWN}
    told = verdict(Case([{1: 10.0}, {2: 20.0}], [{1: 11.0}, {2: 21.0}], noise=noise))
    assert (told.sweep.word, told.sweep.remarks) == (Word.CANNOT_TELL, ("incomplete sweep",))


def test_a_level_of_one_arm_only_is_not_measured() -> None:
    before = [{1: 10.0, 2: 20.0}, {1: 10.1, 2: 20.1}]
    judged = verdict(Case(before, [{1: 11.0}, {1: 11.1}], noise={1: KNOWN}))
    assert [each.word for each in judged.levels] == [Word.BETTER, Word.NOT_MEASURED]
    assert judged.matched == (1,)


def test_nothing_measured_gives_no_word() -> None:
    judged = verdict(Case([], []))
    assert (judged.levels, judged.sweep.word) == ((), Word.NOT_MEASURED)


def test_a_guarded_time_that_got_worse_makes_it_mixed() -> None:
    quiet = {16: Noise(0.01, 8)}
    slower = case((0.1, 0.101, 0.099), (0.2, 0.201, 0.199), metric="ttft_p50", noise=quiet)
    judged = verdict(case(A, B, guards=(slower,)))
    assert judged.sweep.word is Word.MIXED
    assert judged.levels[0].word is Word.BETTER
    assert judged.guards[0].sweep.word is Word.CLEARLY_WORSE
    said = verdict_sentence(judged, "output_tps", "A", "B")
    assert said.endswith("3 launches each): mixed, no single winner; TTFT median worse at 16.")
    same = replace(slower, after=slower.before)
    assert verdict(case(A, B, guards=(same,))).sweep.word is Word.BETTER


def test_what_blocks_keeps_the_figures_and_takes_the_word() -> None:
    for more, told in (
        ({"blocking": ("simulated acceptance",)}, Word.UNSAFE),
        ({"unsafe": {16: "1.2 % of requests failed"}}, Word.UNSAFE),
        ({"not_comparable": ("another model",)}, Word.NOT_COMPARABLE),
    ):
        found = verdict(case(A, B, **more)).levels[0]
        assert (found.word, found.likely) == (told, False)
        assert found.ratio == pytest.approx(1.036501, abs=1e-6)
        assert found.low is not None and found.remarks


def test_looks_widen_the_interval() -> None:
    once, thrice = verdict(case(A, B)), verdict(case(A, B, looks=3))
    assert thrice.sweep.low is not None and once.sweep.low is not None
    assert thrice.sweep.low < once.sweep.low
    assert thrice.alpha == 0.0221


def test_a_launch_far_off_is_shown_with_and_without() -> None:
    found = verdict(case((100, 100.5, 99.5, 100), (105, 105.5, 104.5, 70))).sweep
    assert any("launch 4 of the candidate lies far off" in said for said in found.remarks)
    assert any("without it +5.0%" in said for said in found.remarks)


def test_every_word_has_a_sign_and_a_tone() -> None:
    assert set(GLYPHS) == set(Word)
    assert {tone_of(each) for each in Word} == {"up", "down", "same", "none"}


def test_the_lines_of_a_terminal() -> None:
    (said,) = verdict_lines(verdict(case(A, B)), "output_tps", numbered=False)
    assert said == (
        "The candidate gives +3.7 % output tok/s against the baseline "
        "(95 % interval +1.6 to +5.7 %, 3 launches each): better."
    )
    lines = verdict_lines(sweep(1.5, 1.3, 1.1), "output_tps", numbered=True)
    assert len(lines) == 5
    assert "1 clients" in lines[2] and "++ clearly better" in lines[2]
