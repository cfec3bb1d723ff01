"""A whole run whose log is longer than node and database keep."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from runs.models import Event, LogChunk, LogStream, Sample, State
from tests.faults.conftest import Scene, conduct, nothing_is_left

LONG = {"levels": [4], "requests_per_level": 48, "max_tokens": 48}
NODE_BYTES = 16 * 1024  # of 1 GiB
TEXT_BYTES = 8 * 1024


def test_f70_a_run_whose_log_is_too_long_for_node_and_database_succeeds_and_says_so(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.execution.limits.LOG_BYTES", NODE_BYTES)
    monkeypatch.setattr(LogStream, "TEXT_LIMIT", TEXT_BYTES)
    monkeypatch.setattr(LogChunk, "LIMIT", 512)
    run = conduct(scene.run(**LONG))
    assert run.state == State.SUCCEEDED, run.reason_text
    nothing_is_left(run, scene.port)
    stream = LogStream.objects.get(attempt__run=run, role="server")
    runs = scene.home / ".local/state/throughline/runs" / str(run.uid)
    there = Path(runs / "1/server" / stream.path).read_bytes()
    assert b"bytes are missing here" in there
    assert (stream.position, stream.complete) == (len(there), True)
    assert stream.sha256 == run.attempts.get().server_exit["log_sha256"]
    assert stream.sha256 != hashlib.sha256(there).hexdigest()  # the node itself has lost the middle
    start, end = stream.dropped
    assert stream.text(0, start) == there[:start]
    assert sum(stream.chunks.values_list("length", flat=True)) < 1.5 * TEXT_BYTES
    samples = Sample.objects.filter(stream=stream)
    assert samples.filter(offset__gte=start, offset__lt=end).exists()
    told = dict(Event.objects.filter(run=run).values_list("kind", "text"))
    assert "They were read before that" in told["log-capped"]
    assert "samples and events" in told["text-dropped"]
