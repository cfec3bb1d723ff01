"""What may be called ready, by what a node has answered."""

from __future__ import annotations

from typing import Any

import pytest

from runs.engines.registry import ENGINES
from runs.execution import findings
from tests.hosts.launchers.test_kept import systemd


@pytest.mark.parametrize("watched", [None, {"invocations": []}, {"invocations": ["b"]}])
def test_a_unit_whose_new_start_was_not_seen_yet_is_not_asked_whether_it_is_ready(
    watched: dict[str, Any] | None,
) -> None:
    """Its former process may answer until systemd has ended it, with the same unit and model."""
    answers = {"status": {"watched": watched}, "listeners": [], "responses": {}}
    launcher = systemd()
    assert launcher.has_begun(answers) is (watched == {"invocations": ["b"]})
    if not launcher.has_begun(answers):
        told = findings.judge_ready(ENGINES["sglang"], launcher, None, answers, {"pid": 7})
        assert (told.ready, told.wrong) == (False, False)
        assert told.detail == "The server has not been seen to start anew yet."
