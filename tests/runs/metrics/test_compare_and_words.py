import pytest

from runs.metrics.catalogue import METRICS, is_gain
from runs.metrics.compare import LevelFigures, compare_levels, of_metric
from runs.metrics.words import level_words, speedup_words, sweep_words, user_words


def figures(**by_level: float | None) -> list[LevelFigures]:
    """figures(c1=100.0): one launch's output tok/s by concurrency."""
    return [
        LevelFigures(int(name.removeprefix("c")), {"output_tps": value})
        for name, value in by_level.items()
    ]


def test_what_is_missing_on_a_side_stays_missing() -> None:
    found = compare_levels(figures(c1=100.0, c4=None), figures(c4=50.0, c16=7.0))
    assert [(each.concurrency, each.before, each.after, each.change) for each in found] == [
        (1, 100.0, None, None),
        (4, None, 50.0, None),
        (16, None, 7.0, None),
    ]
    assert [level_words(each) for each in found] == [
        "not comparable: measured in the baseline only",
        "not comparable: the baseline was not measured here",
        "not comparable: the baseline was not measured here",
    ]


def test_a_baseline_of_zero_gives_no_ratio() -> None:
    (found,) = compare_levels(figures(c1=0.0), figures(c1=5.0))
    assert (found.ratio, found.change) == (None, None)
    assert level_words(found) == "not comparable: the baseline is zero"


def test_several_launches_are_averaged_and_counted() -> None:
    (found,) = compare_levels(
        figures(c1=90.0) + figures(c1=110.0), figures(c1=120.0) + figures(c1=130.0)
    )
    assert (found.before, found.after, found.ratio) == (100.0, 125.0, 1.25)
    assert level_words(found) == "+25 % between the means of 2 and 2 launches"


def test_metrics_come_in_the_catalogue_order_and_unknown_ones_last() -> None:
    level = LevelFigures(1, {"zzz": 1.0, "ttft_p50": 0.1, "output_tps": 5.0})
    assert [each.metric for each in compare_levels([level], [level])] == [
        "output_tps",
        "ttft_p50",
        "zzz",
    ]


def test_a_sweep_of_one_level_names_it() -> None:
    found = of_metric(compare_levels(figures(c8=100.0), figures(c8=90.0)), "output_tps")
    assert sweep_words(found, "a", "b") == (
        "b gives −10 % output tok/s against a at concurrency 8; "
        "one launch each: a hint, not a verdict."
    )


def test_a_sweep_without_a_common_level_says_so() -> None:
    found = compare_levels(figures(c1=1.0), figures(c2=1.0))
    assert sweep_words(found, "a", "b") == (
        "b and a share no concurrency level that was measured in both."
    )


def test_two_launches_each_are_no_longer_a_hint_and_no_verdict_yet() -> None:
    found = compare_levels(figures(c1=1.0) * 2, figures(c1=2.0) * 3)
    assert sweep_words(found, "a", "b").endswith("at least 2 launches each, noise not yet judged.")


def test_speed_ups_need_values_and_a_baseline() -> None:
    assert speedup_words([53.4], 26.7) == "×2.0 (one line ×2.00) against 26.7 tok/s"
    for values, baseline in (([], 1.0), ([1.0], 0.0)):
        with pytest.raises(ValueError, match="needs at least one"):
            speedup_words(values, baseline)


def test_a_metric_knows_which_direction_is_good() -> None:
    assert is_gain("output_tps", 0.1) is True
    assert is_gain("ttft_p99", 0.1) is False
    assert is_gain("requests", 0.1) is None
    assert is_gain("output_tps", 0.0) is None
    assert all(metric.key == key for key, metric in METRICS.items())


def test_the_second_sentence_says_no_more_than_the_gain_per_user() -> None:
    found = compare_levels(figures(c1=100.0, c4=100.0), figures(c1=151.0, c4=127.0))
    assert user_words(found) == "Per user it is +27 to +51 %."
    partly = compare_levels(figures(c1=100.0, c4=100.0), figures(c1=151.0))
    assert user_words(partly) == "Per user it is +51 % (measured at 1 of 2 levels)."
    assert user_words(compare_levels(figures(c1=None), figures(c4=1.0))) == ""
