"""What a level's end in the client's log becomes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from runs.actions.conclude import measure_by_log
from runs.actions.store_records import (
    epoch,
    level_values,
    progress_values,
    store_engine_records,
)
from runs.drivers.load_records import LevelEnd, Progress
from runs.engines import base
from runs.models import Event, Level, Operation
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_level,
    make_run,
    make_samples,
    make_stream,
)


def ended(requests: int, failed: int = 0) -> LevelEnd:
    summary: dict[str, Any] = {"requests": requests, "failed": failed, "output_tps": 92.6}
    return LevelEnd(
        t=10.0,
        level=0,
        concurrency=1,
        window_start=1.0,
        window_end=9.0,
        window_by=None,
        summary=summary,
        exit=None,
        result=None,
        prefix=None,
        offset=0,
        line=1,
    )


@pytest.mark.parametrize("planned", [60, None])
def test_a_level_with_all_its_requests_is_done(planned: int | None) -> None:
    values = level_values(ended(60, failed=1), planned=planned)
    assert (values["state"], values["output_tps"]) == (Level.State.DONE, 92.6)
    assert (values["done"], values["failed"]) == (60, 1)


def test_a_level_that_was_stopped_has_counts_and_no_figures() -> None:
    values = level_values(ended(7, failed=1), planned=60)
    assert values["state"] == Level.State.CUT
    assert (values["done"], values["failed"], values["started"]) == (7, 1, 1.0)
    assert "output_tps" not in values and values["summary"]["output_tps"] == 92.6


def test_a_tool_that_told_no_result_has_no_figures_whatever_it_counted() -> None:
    end = replace(ended(60), summary={"requests": 60, "problem": "It died.", "output_tps": None})
    assert level_values(end, planned=60)["state"] == Level.State.CUT


def test_what_was_seen_of_a_tool_stays_when_it_died_without_telling() -> None:
    """As sglang.bench_serving did when its server was killed after 13 of 64 requests."""
    summary = {"requests": None, "failed": None, "problem": "It died.", "output_tps": None}
    values = level_values(replace(ended(0), summary=summary), planned=64)
    assert values["state"] == Level.State.CUT
    assert "done" not in values and "failed" not in values


@pytest.mark.parametrize(
    ("now", "printed", "expected"),
    [
        ("2026-11-30T06:18:20", "11-30T06:18:09", "2026-11-30T06:18:09"),
        ("2027-01-01T00:00:01", "12-31T23:59:59", "2026-12-31T23:59:59"),
        ("2026-12-31T23:59:59", "01-01T00:00:01", "2027-01-01T00:00:01"),
        ("2026-11-30T06:18:20", "06:18:09", None),
    ],
)
def test_a_stamp_without_a_year_is_of_the_year_in_which_it_came(
    now: str, printed: str, expected: str | None
) -> None:
    arrived = datetime.fromisoformat(f"{now}+00:00").timestamp()
    found = epoch(printed, 0.0, arrived)
    if expected is None:
        assert found is None
        return
    wanted = datetime.fromisoformat(f"{expected}+00:00").timestamp()
    assert found is not None and wanted <= found < wanted + 1
    assert epoch(printed, 0.0, None) is None


def test_progress_tells_only_what_is_known() -> None:
    told = Progress(
        t=1.0, level=0, done=None, of=8, failed=None, inflight=None, tokens=None, ttft_p50=None,
        offset=0, line=1,
    )  # fmt: skip
    assert progress_values(told) == {"requests": 8}
    assert progress_values(replace(told, done=3, failed=0)) == {
        "done": 3, "failed": 0, "requests": 8,
    }  # fmt: skip


@pytest.mark.django_db
def test_what_looks_like_a_crash_after_we_stopped_the_server_is_its_way_to_stop() -> None:
    """The lines of SGLang 0.5.20 on SIGTERM, and the same lines before anybody asked."""
    attempt = make_attempt(make_run(make_arm(make_campaign())), facts={"utc_offset_s": 0})
    stream = make_stream(attempt)
    text = "Subprocess scheduler_0 (pid=9) crashed with exit code -15. Triggering SIGQUIT for …"

    def crash(line: int, time: str) -> base.Event:
        return base.Event("crash", time, text, {"slug": "subprocess-died"}, line * 100, line)

    store_engine_records(stream, [crash(1, "2026-11-30T06:28:40")], now=0.0)
    stop = Operation.objects.create(attempt=attempt, kind=Operation.Kind.STOP, fence=1)
    Operation.objects.filter(pk=stop.pk).update(
        planned_at=datetime.fromisoformat("2026-11-30T06:28:48.500+00:00")
    )
    late = [crash(2, "2026-11-30T06:28:47"), crash(3, "2026-11-30T06:28:49")]
    store_engine_records(stream, late, now=0.0)
    kinds = [event.kind for event in Event.objects.order_by("line")]
    assert kinds == ["crash", "crash", "server-stopping"]


@pytest.mark.django_db
def test_a_vllm_level_is_measured_by_the_intervals_that_lie_within_it() -> None:
    run = make_run(make_arm(make_campaign()))
    level = make_level(make_attempt(run), 16, 900.0, started=1_000.0, ended=1_035.0)
    stream = make_stream(level.attempt)
    interval = {"waiting": 0, "accept_len": None, "phase": "interval", "token_usage": None}
    # the first began before the level, the last ended after it
    for ended, running in ((1_006.0, 99), (1_016.0, 16), (1_026.0, 12), (1_036.0, 1)):
        make_samples(stream, [900.0], began=ended, **interval, running=running)
    told = {"phase": "spec_interval", "running": None, "waiting": None, "accept_len": 2.5}
    make_samples(stream, [0.0], began=1_026.0, **told, extras={"drafted_tokens": 90})
    measure_by_log(level)
    level.refresh_from_db()
    assert (level.running_mean, level.waiting_mean, level.accept_len) == (14.0, 0.0, 2.5)
