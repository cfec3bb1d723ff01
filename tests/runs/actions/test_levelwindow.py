"""The stored window: found once, and every figure of the log is that of the lines inside it."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import IntegrityError, transaction

from runs.actions import levelwindow
from runs.actions.conclude import judge_attempt
from runs.actions.import_showcase import import_folder
from runs.actions.levelwindow import settle, stored_rows
from runs.gains import gains
from runs.models import Arm, Level, LogStream, Sample
from runs.sides import side_of
from tests.factories import make_arm, make_campaign, make_level, make_run
from tests.runs.actions.windows import BEGAN, measured_run, request, store_load

pytestmark = pytest.mark.django_db


def judged(level: Level) -> Level:
    judge_attempt(attempt=level.attempt)
    return Level.objects.get(pk=level.pk)


def test_a_runs_end_stores_the_window_and_what_lies_in_it() -> None:
    level = judged(measured_run())
    assert (level.window_source, level.window_why) == ("client", "")
    assert level.window_start is not None and level.window_end is not None
    # 40 passes of 16 requests at 2.6 tokens each and 1600 tok/s: a line spans 1.04 s
    assert level.window_start - BEGAN == pytest.approx(1.04)
    assert level.window_end - BEGAN == pytest.approx(85 - 1.04)
    assert level.accept_len == pytest.approx(2.6)
    assert (level.running_mean, level.waiting_mean) == (16.0, 0.0)
    assert level.told is not None
    assert level.told.tps == pytest.approx(1600)
    assert level.told.accept_len == pytest.approx(2.6)


def test_the_clients_figure_is_tokens_in_the_window_over_its_length() -> None:
    level = judged(measured_run())
    assert level.window_tps
    assert level.output_tps == pytest.approx(1600)
    assert level.summary["output_tps"] == 1423.0
    again = judged(level)
    assert (again.output_tps, again.window, again.factors) == (
        level.output_tps,
        level.window,
        level.factors,
    )


def test_a_client_without_single_requests_keeps_its_own_figure() -> None:
    level = measured_run()
    LogStream.objects.filter(role=LogStream.Role.LOAD).delete()
    level = judged(level)
    assert (level.window_source, level.output_tps, level.window_tps) == ("client", 1423.0, False)


def test_requests_that_do_not_tell_their_tokens_leave_the_clients_own_figure() -> None:
    level = measured_run()
    LogStream.objects.filter(role=LogStream.Role.LOAD).delete()
    store_load(level.attempt, [request(0, 0, 85, 8500), request(1, 0, 85, None)])
    assert judged(level).output_tps == 1423.0


def test_requests_that_failed_and_those_of_other_levels_do_not_count() -> None:
    level = measured_run()
    LogStream.objects.filter(role=LogStream.Role.LOAD).delete()
    broken = request(1, 0, 85, 8500, error={"kind": "timeout", "message": "", "status": None})
    other = {**request(2, 0, 85, 8500), "level": 1}
    store_load(level.attempt, [request(0, 0, 85, 8500), broken, other])
    assert judged(level).output_tps == pytest.approx(100)


def test_a_level_that_was_never_full_is_read_whole_and_says_so() -> None:
    level = measured_run(summary={"inflight": [[BEGAN, 9], [BEGAN + 100, 0]], "output_tps": 900.0})
    level = judged(level)
    assert (level.window_source, level.window_tps) == ("whole run", False)
    assert level.window_why == "never 95% of the clients in flight"
    assert (level.window_start, level.window_end) == (BEGAN, BEGAN + 100)
    assert level.running_mean == pytest.approx((85 * 16 + 15 * 4) / 100)


def test_the_ledger_is_read_from_what_is_stored() -> None:
    campaign = make_campaign()
    arms = [make_arm(campaign), make_arm(campaign, "steps=2", steps=2)]
    for arm in arms:
        judged(measured_run(make_run(arm)))
    sides = [side_of(arm) for arm in arms]
    Sample.objects.all().delete()
    (found,) = gains(*sides, [16])
    bars = {bar.key: bar for bar in found.ledger.bars}
    assert bars["accept_len"].after == pytest.approx(2.6)
    assert bars["remainder"].after == pytest.approx(1)
    assert found.whole == ""


def test_an_imports_levels_have_a_window_and_keep_what_was_printed() -> None:
    import_folder(folder=Path(settings.BASE_DIR) / "showcase" / "h200-standalone-steps")
    arm = Arm.objects.get(name="no speculation")
    level = Level.objects.get(attempt__run__arm=arm, concurrency=64)
    assert (level.window_source, level.window_why) == (
        "whole run",
        "only 17 s with all clients in flight",
    )
    assert level.output_tps == pytest.approx(5945.38, abs=0.01)
    assert not level.window_tps
    assert level.told is not None and level.told.lines == 41


def test_runs_of_an_earlier_version_get_their_windows_by_a_command() -> None:
    ours = measured_run()
    call_command("read_again", "--windows", stdout=(out := StringIO()))
    ours.refresh_from_db()
    assert (ours.window_source, ours.window_tps) == ("client", True)
    assert f"{ours.attempt}: 1 of 1 levels" in out.getvalue()
    call_command("read_again", "--windows", stdout=(again := StringIO()))
    assert again.getvalue() == ""


def test_of_very_many_lines_a_part_tells_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    level = judged(measured_run())
    whole = stored_rows(level)
    monkeypatch.setattr(levelwindow, "MOST_LINES", 40)
    few = stored_rows(level)
    assert len(whole) == 100
    assert 30 <= len(few) <= 50
    settle(level, few)
    assert level.told is not None
    assert level.told.tps == pytest.approx(1600)


def test_a_level_without_times_and_lines_has_no_window() -> None:
    level = judged(make_level(measured_run().attempt, 4, 100.0))
    assert (level.window, level.told, level.output_tps) == (None, None, 100.0)


def test_the_database_refuses_half_a_window() -> None:
    level = measured_run()
    with pytest.raises(IntegrityError), transaction.atomic():
        Level.objects.filter(pk=level.pk).update(window_source="client", window_start=5.0)
    with pytest.raises(IntegrityError), transaction.atomic():
        Level.objects.filter(pk=level.pk).update(window_start=5.0, window_end=6.0)
