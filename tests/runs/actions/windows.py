"""A run of ours with one level of 100 s: 16 clients from 5 to 85 s, then a drain."""

from __future__ import annotations

import json
from typing import Any

from runs.models import Attempt, Level, LogChunk, LogStream, Run
from tests.factories import (
    make_arm,
    make_attempt,
    make_campaign,
    make_level,
    make_run,
    make_samples,
    make_stream,
)

BEGAN = 1_780_000_000.0
CURVE = [[BEGAN, 16], [BEGAN + 85, 9], [BEGAN + 92, 2], [BEGAN + 100, 0]]


def request(n: int, first: float, last: float, tokens: int | None, **more: Any) -> dict[str, Any]:
    times = {"send": BEGAN + first - 0.2, "first": BEGAN + first, "last": BEGAN + last}
    told = {"output_tokens": tokens, "chunks": tokens, "finish": "length", "error": None}
    return {"type": "request", "level": 0, "n": n, **times, **told, **more}


def measured_run(run: Run | None = None, **level: Any) -> Level:
    """16 requests at 100 tok/s each for 85 s, four of them at 50 tok/s until the end."""
    run = run or make_run(make_arm(make_campaign()))
    attempt = make_attempt(run)
    summary = {"inflight": CURVE, "output_tps": 1423.0, "begun_at_byte": 0}
    told = {"started": BEGAN, "ended": BEGAN + 100, "summary": summary, **level}
    kept = make_level(attempt, 16, 1423.0, **told)
    store_load(attempt, [request(n, 0, 85, 8500) for n in range(16)])
    stream = make_stream(attempt)
    make_samples(stream, [1600.0] * 85, began=BEGAN + 1, accept_len=2.6)
    make_samples(stream, [300.0] * 15, began=BEGAN + 86, accept_len=1.4, running=4, waiting=3)
    return kept


def store_load(attempt: Attempt, records: list[dict[str, Any]]) -> LogStream:
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    stream = make_stream(attempt, LogStream.Role.LOAD, position=len(data))
    LogChunk.of(stream, 0, data).save()
    return stream
