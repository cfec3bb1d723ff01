"""What the charts of one level read: lines from where the window began, TTFT of each request."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from runs.levellines import MOST_POINTS, aligned_series, ttft_series
from runs.models import Arm, LogChunk, LogStream, Sample
from runs.sides import sides_of
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_level,
    make_run,
    make_samples,
    make_stream,
)

pytestmark = pytest.mark.django_db
BEGAN = 1_780_000_000.0


@pytest.fixture
def arm() -> Arm:
    return make_arm(make_campaign())


def measured(arm: Arm, tps: float, lines: int, *, began: float = BEGAN) -> None:
    attempt = make_attempt(make_run(arm))
    make_level(
        attempt, 16, tps, started=began, ended=began + lines,
        window_start=began + 5, window_end=began + lines - 5, window_source="client",
    )  # fmt: skip
    make_samples(make_stream(attempt), [tps] * lines, began=began)
    make_samples(attempt.streams.get(), [1.0], began=began + lines + 60)  # of another level


def test_lines_are_counted_from_where_the_window_began(arm: Arm) -> None:
    measured(arm, 1000.0, 60)
    [told] = aligned_series(sides_of([arm]), 16)
    assert told["x"][0] == -5.0 and told["x"][-1] == 54.0
    assert set(told["y"]) == {1000.0}
    assert told["steady"] == 50.0 and told["ends"] == 55.0


def test_the_launch_in_the_middle_stands_for_its_arm(arm: Arm) -> None:
    for i, tps in enumerate((900.0, 1200.0, 1000.0)):
        measured(arm, tps, 20, began=BEGAN + 1000 * i)
    [told] = aligned_series(sides_of([arm]), 16)
    assert told["run"] == arm.runs.order_by("pk").last().pk
    assert set(told["y"]) == {1000.0}


def test_a_long_log_is_thinned_and_a_spike_stays(arm: Arm) -> None:
    measured(arm, 1000.0, 3000)
    spike = Sample.objects.order_by("pk")[1500]
    spike.output_tps = 5000.0
    spike.save()
    [told] = aligned_series(sides_of([arm]), 16)
    assert len(told["x"]) <= MOST_POINTS and max(told["y"]) == 5000.0
    assert told["x"] == sorted(told["x"])


def test_of_a_very_long_level_the_database_tells_the_extremes(
    arm: Arm, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(arm, 1000.0, 3000)
    spike = Sample.objects.order_by("pk")[1500]
    spike.output_tps = 5000.0
    spike.save()
    monkeypatch.setattr("runs.levellines.MOST_READ", 1000)
    [told] = aligned_series(sides_of([arm]), 16)
    assert len(told["x"]) <= MOST_POINTS
    assert told["x"] == sorted(told["x"])
    assert (told["x"][0], told["x"][-1]) == (-5.0, 2994.0)
    assert set(told["y"]) == {1000.0, 5000.0}
    at = told["x"][told["y"].index(5000.0)]
    assert at == pytest.approx(1495.0, abs=3000 / 199)


def test_stretches_leave_no_line_out_whichever_way_the_database_rounds(
    arm: Arm, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(arm, 1000.0, 3000)
    lines = list(Sample.objects.order_by("pk")[:3000])
    for i, line in enumerate(lines):
        line.output_tps = 1000.0 + i
    Sample.objects.bulk_update(lines, ["output_tps"])
    monkeypatch.setattr("runs.levellines.MOST_READ", 1000)
    [told] = aligned_series(sides_of([arm]), 16)
    assert MOST_POINTS - 4 <= len(told["y"]) <= MOST_POINTS
    assert all(y == 1000.0 + 5 + x for x, y in zip(told["x"], told["y"], strict=True))
    # a stretch ends where the next one begins, a line later
    ends = [told["y"][i + 1] - told["y"][i] for i in range(1, len(told["y"]) - 2, 2)]
    assert set(ends) == {1.0}


def test_a_level_without_lines_or_without_times_is_told_of_nothing(arm: Arm) -> None:
    make_level(make_attempt(make_run(arm)), 16, 1000.0)
    assert aligned_series(sides_of([arm]), 16) == []
    assert aligned_series(sides_of([arm]), 4) == []


def request(n: int, level: int, ttft: float | None) -> dict[str, object]:
    first = None if ttft is None else BEGAN + ttft
    return {
        "type": "request", "level": level, "n": n, "send": BEGAN, "first": first,
        "last": first, "prompt_tokens": 10, "cached_tokens": 0, "output_tokens": 5, "chunks": 5,
        "finish": "length", "error": None,
    }  # fmt: skip


def stored(arm: Arm, records: list[dict[str, object]]) -> None:
    attempt = make_attempt(make_run(arm))
    make_level(attempt, 16, 1000.0)
    told = "".join(json.dumps(record) + "\n" for record in records).encode()
    stream = make_stream(attempt, role=LogStream.Role.LOAD, position=len(told))
    LogChunk.of(stream, 0, told).save()


def test_ttft_is_read_from_the_requests_that_a_driver_stored(arm: Arm) -> None:
    stored(arm, [request(0, 0, 0.2), request(1, 0, 0.1), request(2, 0, None), request(3, 1, 9.0)])
    [told] = ttft_series(sides_of([arm]), 16)
    assert told["launches"] == [
        {"run": arm.runs.get().pk, "ttft": [0.1, 0.2], "requests": 2},
    ]


def test_of_many_requests_both_ends_are_kept(arm: Arm) -> None:
    stored(arm, [request(i, 0, i / 1000) for i in range(1000)])
    [told] = ttft_series(sides_of([arm]), 16)
    [launch] = told["launches"]
    assert len(launch["ttft"]) == MOST_POINTS and launch["requests"] == 1000
    assert (launch["ttft"][0], launch["ttft"][-1]) == (0.0, 0.999)


def test_without_stored_requests_nothing_is_told(arm: Arm) -> None:
    make_level(make_attempt(make_run(arm)), 16, 1000.0)
    assert ttft_series(sides_of([arm]), 16) == []


@pytest.mark.parametrize("what", ["lines", "ttft"])
def test_the_addresses_want_arms_and_a_level(member: Client, arm: Arm, what: str) -> None:
    assert member.get(f"/compare/{what}/?arms={arm.pk}&level=16").json() == {
        "level": 16,
        "arms": [],
    }
    assert member.get(f"/compare/{what}/?arms={arm.pk}&level=x").status_code == 404
    assert member.get(f"/compare/{what}/?arms=999999&level=16").status_code == 404
    assert Client().get(f"/compare/{what}/?arms={arm.pk}&level=16").status_code == 302
