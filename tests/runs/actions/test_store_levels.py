"""What a level's end in the client's log becomes."""

from __future__ import annotations

from typing import Any

import pytest

from runs.actions.store_records import level_values
from runs.drivers.load_records import LevelEnd
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
