"""What a level's end in the client's log becomes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runs.actions.store_records import level_values, progress_values
from runs.drivers.load_records import LevelEnd, Progress
from runs.models import Level


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


def test_progress_tells_only_what_is_known() -> None:
    told = Progress(
        t=1.0, level=0, done=None, of=8, failed=None, inflight=None, tokens=None, ttft_p50=None,
        offset=0, line=1,
    )  # fmt: skip
    assert progress_values(told) == {"requests": 8}
    assert progress_values(replace(told, done=3, failed=0)) == {
        "done": 3, "failed": 0, "requests": 8,
    }  # fmt: skip
