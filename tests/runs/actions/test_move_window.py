"""A window is moved by hand, with a reason; the figures follow and the record stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings
from django.db import IntegrityError, transaction

from runs.actions.compare import keep_comparison
from runs.actions.conclude import judge_attempt
from runs.actions.import_showcase import import_folder
from runs.actions.launch import Refused
from runs.actions.move_window import move_window, reset_window
from runs.actions.read_again import read_again
from runs.comparisons import compare_arms
from runs.gains import gains
from runs.models import Arm, Level, State, WindowMove
from runs.sides import side_of
from runs.snapshots import snapshot
from tests.factories import make_arm, make_campaign, make_person, make_run
from tests.runs.actions.windows import BEGAN, measured_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def level() -> Level:
    kept = measured_run()
    judge_attempt(attempt=kept.attempt)
    return Level.objects.get(pk=kept.pk)


def move(level: Level, start: float, end: float, reason: str = "the drain is the point") -> Level:
    move_window(level=level, start=BEGAN + start, end=BEGAN + end, by=make_person(), reason=reason)
    return Level.objects.get(pk=level.pk)


def test_the_figures_of_the_level_follow_at_once(level: Level) -> None:
    level = move(level, 80, 100)
    assert (level.window_source, level.edited) == ("by hand", True)
    assert level.window_why == "20 s, less than 30 s; 19 log lines, fewer than 20"
    # 5 s at 1600 tok/s and nothing after them
    assert level.output_tps == pytest.approx(16 * 100 * 5 / 20)
    assert level.running_mean == pytest.approx((4 * 16 + 15 * 4) / 19)
    assert level.told is not None
    assert level.told.tps < 1000


def test_who_moved_it_when_from_where_and_why_is_kept(level: Level) -> None:
    before = level.window
    move(level, 10, 50)
    move(level, 10, 60, "one more block")
    first, second = WindowMove.objects.all()
    assert before is not None
    assert (first.before_start, first.before_end) == (before.span.start, before.span.end)
    assert (first.before_source, second.before_source) == ("client", "by hand")
    assert (second.start, second.end) == (BEGAN + 10, BEGAN + 60)
    assert (str(second.by), second.reason) == ("operator", "one more block")


def test_put_back_it_is_the_window_that_was_found(level: Level) -> None:
    found = (level.window, level.output_tps, level.accept_len, level.factors)
    moved = move(level, 80, 100)
    assert reset_window(level=moved, by=make_person()) is not None
    level = Level.objects.get(pk=level.pk)
    assert (level.window, level.output_tps, level.accept_len, level.factors) == found
    assert WindowMove.objects.count() == 2
    assert reset_window(level=level, by=make_person()) is None
    assert WindowMove.objects.count() == 2


def test_the_same_move_twice_is_one(level: Level) -> None:
    move(level, 10, 50)
    move(level, 10, 50)
    assert WindowMove.objects.count() == 1


def test_a_run_that_is_judged_again_keeps_the_move(level: Level) -> None:
    moved = move(level, 10, 50)
    judge_attempt(attempt=level.attempt)
    assert Level.objects.get(pk=level.pk).window == moved.window


@pytest.mark.parametrize(
    ("start", "end", "reason", "field", "words"),
    [
        (-5, 50, "why", "start", "0 to 100.0 s; -5.0 s is outside"),
        (10, 140, "why", "end", "140.0 s is outside"),
        (60, 50, "why", "end", "ends before it begins"),
        (10, 50, "  ", "reason", "Say why"),
        (10, 50, "x" * 501, "reason", "longer than 500"),
    ],
)
def test_what_cannot_be_names_its_field(
    level: Level, start: float, end: float, reason: str, field: str, words: str
) -> None:
    with pytest.raises(Refused, match=words) as refused:
        move(level, start, end, reason)
    assert refused.value.field == field
    assert not WindowMove.objects.exists()


def test_tenths_of_a_form_reach_the_levels_end(level: Level) -> None:
    assert move(level, -0.04, 100.04).window_end == BEGAN + 100


def test_a_run_that_goes_on_is_left_alone(level: Level) -> None:
    run = level.attempt.run
    run.state, run.ended_at = State.MEASURING, None
    run.save()
    with pytest.raises(Refused, match="goes on"):
        move(level, 10, 50)


def test_a_comparison_follows_and_a_shared_copy_stays() -> None:
    campaign = make_campaign()
    arms = [make_arm(campaign), make_arm(campaign, "steps=2", steps=2)]
    levels = [measured_run(make_run(arm)) for arm in arms]
    for each in levels:
        judge_attempt(attempt=each.attempt)
    keep_comparison(arms=arms)
    frozen = snapshot(compare_arms(arms), [])
    kept = repr(frozen)
    move(levels[1], 60, 100)
    (found,) = gains(side_of(arms[0]), side_of(arms[1]), [16])
    assert found.after == pytest.approx(16 * 100 * 25 / 40)
    assert repr(frozen) == kept
    assert repr(snapshot(compare_arms(arms), [])["pairs"]) != repr(frozen["pairs"])


def test_an_imports_log_figures_follow_and_what_was_printed_stays() -> None:
    imported = import_folder(folder=Path(settings.BASE_DIR) / "showcase" / "h200-standalone-steps")
    arm = Arm.objects.get(name="no speculation")
    level = Level.objects.get(attempt__run__arm=arm, concurrency=64)
    printed = (level.output_tps, level.user_tps, level.ttft_s)
    assert level.window is not None
    whole = level.window.span
    move_window(
        level=level, start=whole.end - 5, end=whole.end, by=make_person(), reason="the drain"
    )
    moved = Level.objects.get(pk=level.pk)
    assert (moved.output_tps, moved.user_tps, moved.ttft_s) == printed
    assert (moved.edited, moved.window_tps) == (True, False)
    assert moved.running_mean is not None and level.running_mean is not None
    assert moved.running_mean < level.running_mean

    read_again(campaign=imported, by=None)
    again = Level.objects.get(attempt__run__arm=arm, concurrency=64)
    assert again.window == moved.window
    reset_window(level=again, by=make_person())
    back = Level.objects.get(pk=again.pk)
    assert (back.window, back.running_mean) == (level.window, level.running_mean)
    assert (back.waiting_mean, back.accept_len) == (level.waiting_mean, level.accept_len)


def test_the_database_refuses_a_move_without_a_reason_or_an_end(level: Level) -> None:
    common = {"attempt": level.attempt, "index": 0, "concurrency": 16}
    before = {"before_start": 0.0, "before_end": 1.0, "before_source": "client"}
    for bad in ({"start": 1.0, "end": 2.0}, {"start": 1.0, "reason": "x"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            WindowMove.objects.create(**common, **before, **bad)


def test_a_level_that_was_read_again_meanwhile_is_not_moved(level: Level) -> None:
    Level.objects.filter(pk=level.pk).delete()
    with pytest.raises(Refused, match="read again a moment ago"):
        move_window(level=level, start=BEGAN, end=BEGAN + 50, by=None, reason="why")
