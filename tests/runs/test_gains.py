"""The gain ledger from stored lines: an H200's real logs, and what is missing."""

from __future__ import annotations

import math
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command

from runs.actions.import_showcase import import_folder
from runs.actions.rebuild import of_older_formula
from runs.gains import gains
from runs.models import Arm, Level, LogStream, Sample, State
from runs.sides import side_of
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_level,
    make_measured_run,
    make_run,
    make_samples,
    make_stream,
)

pytestmark = pytest.mark.django_db

BEGAN = 1_780_000_000.0


def test_an_h200_pays_for_a_longer_accept_len_with_slower_steps() -> None:
    import_folder(folder=Path(settings.BASE_DIR) / "showcase" / "h200-standalone-steps")
    base, other = (side_of(Arm.objects.get(name=n)) for n in ("no speculation", "steps=3"))
    told = gains(base, other, [1, 16, 64])
    found = {gain.concurrency: gain.ledger for gain in told}
    whole = {gain.concurrency: gain.whole for gain in told}
    for concurrency, ledger in found.items():
        a, b = (side.mean("output_tps", concurrency) for side in (base, other))
        assert a and b
        assert math.fsum(bar.d for bar in ledger.bars) == pytest.approx(math.log(b / a), abs=1e-12)
    one = {bar.key: bar for bar in found[1].bars}
    assert one["occupancy"].ratio == pytest.approx(1)
    assert one["accept_len"].ratio == pytest.approx(2.94, abs=0.01)
    # the lines that hold prefills are longer, and what those took is the remainder's
    assert one["steps"].ratio == pytest.approx(0.556, abs=0.002)
    assert (1000 / one["steps"].before, 1000 / one["steps"].after) == pytest.approx(
        (4.79, 8.62), abs=0.01
    )
    many = {bar.key: bar for bar in found[64].bars}
    assert 40 < many["occupancy"].after < 48 < many["occupancy"].before < 64
    assert "only 17 s" in whole[64]  # so ramp and drain are in it
    assert found[64].margin is not None and found[64].margin < 0 < (found[1].margin or 0)


def launch(arm: Arm, tps: float, running: int, length: float | None, client: float) -> None:
    attempt = make_attempt(make_run(arm))
    make_level(attempt, 16, client, started=BEGAN, ended=BEGAN + 100)
    stream = make_stream(attempt)
    make_samples(stream, [tps] * 90, began=BEGAN + 5, running=running, accept_len=length)


def two_arms() -> tuple[Arm, Arm]:
    campaign = make_campaign()
    return make_arm(campaign), make_arm(campaign, "steps=2", steps=2)


def test_launches_of_ours_are_read_inside_their_window() -> None:
    a, b = two_arms()
    for spread in (1.0, 1.01):
        launch(a, 1600 * spread, 16, 1.9, 1500 * spread)
        launch(b, 1900 * spread, 16, 2.6, 1800 * spread)
    (found,) = gains(side_of(a), side_of(b), [16])
    bars = {bar.key: bar for bar in found.ledger.bars}
    assert found.whole == ""
    assert bars["accept_len"].ratio == pytest.approx(2.6 / 1.9)
    assert found.ledger.ratio == pytest.approx(1.2)
    assert bars["steps"].low is not None
    assert found.ledger.launches == (2, 2)
    assert found.ledger.break_even == pytest.approx(1.9 * (1600 / 1.9) / (1900 / 2.6))


def test_the_lines_of_other_levels_do_not_count() -> None:
    a, b = two_arms()
    launch(a, 1600, 16, 1.9, 1500)
    launch(b, 1900, 16, 2.6, 1800)
    stream = LogStream.objects.filter(attempt__run__arm=b).get()
    make_samples(stream, [50.0] * 30, began=BEGAN + 200, running=1, accept_len=1.0)
    (found,) = gains(side_of(a), side_of(b), [16])
    occupancy = next(bar.after for bar in found.ledger.bars if bar.key == "occupancy")
    assert occupancy == pytest.approx(16)


def test_a_launch_without_a_log_is_named() -> None:
    a, b = two_arms()
    launch(a, 1600, 16, 1.9, 1500)
    make_measured_run(b, {16: 1800.0})
    (found,) = gains(side_of(a), side_of(b), [16])
    assert found.ledger.missing == "needs the server's log of steps=2"


def test_levels_of_one_side_have_no_ledger() -> None:
    a, b = two_arms()
    launch(a, 1600, 16, 1.9, 1500)
    assert gains(side_of(a), side_of(b), [16]) == []


def test_lines_of_vllm_span_equal_times_and_get_their_accept_len_from_the_next() -> None:
    a, b = two_arms()
    launch(a, 1600, 16, None, 1500)  # without speculation
    a.config.flags = {}
    a.config.save()
    attempt = make_attempt(make_run(b))
    make_level(attempt, 16, 1500.0, started=BEGAN, ended=BEGAN + 310)
    stream = make_stream(attempt)
    for n in range(30):
        at = BEGAN + 10 * (n + 1)
        make_samples(stream, [1000.0 + 20 * n], began=at, accept_len=None)
        drafts(stream, at, 2.5)
    Sample.objects.filter(stream=stream, phase="decode").update(phase="interval")
    (found,) = gains(side_of(a), side_of(b), [16])
    bars = {bar.key: bar for bar in found.ledger.bars}
    assert bars["accept_len"].after == pytest.approx(2.5)
    assert bars["occupancy"].after == pytest.approx(16)
    speed = bars["accept_len"].after * bars["steps"].after * bars["occupancy"].after
    assert speed == pytest.approx(1500 / bars["remainder"].after)


def drafts(stream: LogStream, time: float, length: float) -> None:
    Sample.objects.create(
        stream=stream,
        seq=stream.next_seq,
        phase="spec_interval",
        time=time,
        accept_len=length,
        offset=stream.next_seq * 200,
        line=stream.next_seq,
    )
    stream.next_seq += 1
    stream.save(update_fields=["next_seq"])


def test_of_long_logs_a_part_tells_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = two_arms()
    for arm, tps in ((a, 1600.0), (b, 1900.0)):
        attempt = make_attempt(make_run(arm))
        make_level(attempt, 16, tps, started=BEGAN, ended=BEGAN + 2000)
        values = [tps * (1 + 0.1 * math.sin(n)) for n in range(1900)]
        make_samples(make_stream(attempt), values, began=BEGAN + 5)
    (whole,) = gains(side_of(a), side_of(b), [16])
    Level.objects.update(formula=0)
    monkeypatch.setattr("runs.actions.levelwindow.MOST_LINES", 200)
    (part,) = gains(side_of(a), side_of(b), [16])
    for all_bar, bar in zip(whole.ledger.bars, part.ledger.bars, strict=True):
        assert bar.ratio == pytest.approx(all_bar.ratio, rel=0.02)
    assert part.ledger.d == pytest.approx(whole.ledger.d, abs=1e-12)


def test_the_log_is_read_once(django_assert_max_num_queries: Any) -> None:
    a, b = two_arms()
    launch(a, 1600, 16, 1.9, 1500)
    launch(b, 1900, 16, 2.6, 1800)
    (first,) = gains(side_of(a), side_of(b), [16])
    sides = side_of(a), side_of(b)
    with django_assert_max_num_queries(0):
        assert gains(*sides, [16]) == [first]


def test_what_an_older_formula_found_is_found_anew() -> None:
    a, b = two_arms()
    launch(a, 1600, 16, 1.9, 1500)
    launch(b, 1900, 16, 2.6, 1800)
    (first,) = gains(side_of(a), side_of(b), [16])
    assert not of_older_formula()
    Level.objects.update(
        formula=0, factors=None, window_source="", window_start=None, window_end=None
    )
    assert of_older_formula().count() == 2
    assert gains(side_of(a), side_of(b), [16]) == [first]
    assert not of_older_formula()


def test_launches_of_an_older_formula_are_judged_again() -> None:
    a, _ = two_arms()
    launch(a, 1600, 16, 1.9, 1500)
    call_command("read_again", "--windows", stdout=StringIO())
    level = Level.objects.get()
    assert level.told is not None and level.told.occupancy == pytest.approx(16)
    assert level.running_mean == 16
    assert not of_older_formula()


def test_of_a_run_that_goes_on_nothing_is_kept() -> None:
    a, b = two_arms()
    launch(a, 1600, 16, 1.9, 1500)
    attempt = make_attempt(make_run(b, state=State.MEASURING))
    make_level(attempt, 16, 1800, started=BEGAN, ended=BEGAN + 100)
    make_samples(make_stream(attempt), [1900.0] * 90, began=BEGAN + 5)
    (found,) = gains(side_of(a), side_of(b), [16])
    assert found.ledger.bars
    assert attempt.levels.get().factors is None
