"""From records of the pure readers to rows. Called inside the recorder's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db.models import F

from runs.actions.conclude import measure_by_log
from runs.drivers import load_records as load
from runs.engines import base
from runs.models import Event, Level, LogStream, Sample


def store_engine_records(stream: LogStream, records: Sequence[base.Record], now: float) -> None:
    """Samples get the stream's next numbers; damaged records are counted and kept as events."""
    offset_s = stream.attempt.facts.get("utc_offset_s")
    samples = [r for r in records if isinstance(r, base.Sample)]
    damaged = [r for r in records if isinstance(r, base.Damaged)]
    events = [r for r in records if isinstance(r, base.Event)]
    Sample.objects.bulk_create(
        sample_row(stream, stream.next_seq + i, record, epoch(record.time, offset_s, at))
        for i, (record, at) in enumerate(zip(samples, arrivals(now, len(samples)), strict=True))
    )
    Event.objects.bulk_create(
        [event_row(stream, e.kind, e.text, e.data, e, offset_s, now) for e in events]
        + [event_row(stream, "damaged", d.text, {"why": d.reason}, d, None, now) for d in damaged]
    )
    LogStream.objects.filter(pk=stream.pk).update(
        next_seq=F("next_seq") + len(samples), damaged=F("damaged") + len(damaged)
    )


def arrivals(now: float, count: int) -> list[float]:
    """When the lines of one write arrived: evenly over the time since the last write."""
    step = settings.DURATIONS.flush / max(count, 1)
    return [now - step * (count - 1 - i) for i in range(count)]


def epoch(printed: str | None, utc_offset_s: float | None, arrived: float | None) -> float | None:
    """Epoch seconds of a printed local time; ``None`` if it has no date or no known offset.

    The print has whole seconds. A line that arrived within its own second (it was followed live)
    is placed at its arrival, so that several lines of one second keep their distances.
    """
    if not printed or "T" not in printed or len(printed.split("T")[0]) != 10:
        return None
    if utc_offset_s is None:
        return None
    second = datetime.fromisoformat(printed).replace(tzinfo=UTC).timestamp() - utc_offset_s
    if arrived is not None and second <= arrived < second + 2.0:
        return min(arrived, second + 0.999)
    return second


def sample_row(stream: LogStream, seq: int, record: base.Sample, time: float | None) -> Sample:
    """One row of a parsed line; what the line did not say stays null."""
    extras = dict(record.extras)
    if record.pending_tokens is not None:
        extras["pending_tokens"] = record.pending_tokens
    if record.graph_label not in (None, "cuda graph"):
        extras["graph_label"] = record.graph_label
    return Sample(
        stream=stream,
        seq=seq,
        phase=record.phase,
        time=time,
        printed_time=record.time or "",
        rank=record.rank or "",
        running=record.running,
        waiting=record.waiting,
        tokens=record.tokens,
        token_usage=record.token_usage,
        accept_len=record.accept_len,
        accept_rate=record.accept_rate,
        graph=record.graph,
        output_tps=record.output_tps,
        input_tps=record.input_tps,
        new_seq=record.new_seq,
        new_tokens=record.new_tokens,
        cached_tokens=record.cached_tokens,
        extras=extras,
        offset=record.offset,
        line=record.line,
    )


def event_row(
    stream: LogStream,
    kind: str,
    text: str,
    data: dict[str, Any],
    at: base.Event | base.Damaged,
    utc_offset_s: float | None,
    now: float,
) -> Event:
    when = epoch(getattr(at, "time", None), utc_offset_s, now) or now
    return Event(
        run_id=stream.attempt.run_id,
        attempt_id=stream.attempt_id,
        kind=kind,
        at=datetime.fromtimestamp(when, UTC),
        text=text[:2000],
        data=data,
        actor=stream.get_role_display(),
        stream=stream,
        offset=at.offset,
        line=at.line,
    )


def store_load_records(stream: LogStream, records: Sequence[load.LoadRecord], now: float) -> None:
    """Levels as the driver tells of them. Single requests stay in the stored log."""
    for record in records:
        match record:
            case base.Damaged():
                event_row(
                    stream, "damaged", record.text, {"why": record.reason}, record, None, now
                ).save()
                LogStream.objects.filter(pk=stream.pk).update(damaged=F("damaged") + 1)
            case load.LevelStart():
                _level(stream, record.level).update(
                    state=Level.State.RUNNING, requests=record.requests, started=record.t
                )
            case load.Progress():
                _level(stream, record.level).update(
                    done=record.done, failed=record.failed, ttft_s=record.ttft_p50
                )
            case load.LevelEnd():
                level = _level(stream, record.level).get()
                values = level_values(record, planned=level.requests)
                _level(stream, record.level).update(**values)
                if values["state"] == Level.State.DONE:
                    # from the log as far as it is stored; measured once more when all of it is
                    measure_by_log(_level(stream, record.level).get())
            case load.Done() | load.Fatal():
                _load_event(stream, record, now)


def _level(stream: LogStream, index: int) -> Any:
    return Level.objects.filter(attempt_id=stream.attempt_id, index=index)


def level_values(end: load.LevelEnd, *, planned: int | None) -> dict[str, Any]:
    """The columns of a level that ended, from the driver's summary; unknown stays null.

    A level that was stopped before the ``planned`` requests has no figures: a request that was
    cut and clients that ran out of work would stand for the level.
    """
    told: dict[str, Any] = dict(end.summary)
    ended: dict[str, Any] = {
        "done": told.get("requests") or 0,
        "failed": told.get("failed") or 0,
        "started": end.window_start,
        "ended": end.window_end,
        "summary": told,
    }
    if planned is not None and ended["done"] < planned:
        return {"state": Level.State.CUT, **ended}

    def part(name: str, key: str) -> Any:
        found = told.get(name)
        return found.get(key) if isinstance(found, dict) else None

    return {
        "state": Level.State.DONE,
        **ended,
        "output_tokens": told.get("output_tokens"),
        "cached_tokens": told.get("cached_tokens"),
        "output_tps": told.get("output_tps"),
        "user_tps": part("user_tps", "mean"),
        "ttft_s": part("ttft", "p50"),
        "tpot_s": part("tpot", "p50"),
    }


def _load_event(stream: LogStream, record: load.Done | load.Fatal, now: float) -> None:
    failed = isinstance(record, load.Fatal)
    Event.objects.create(
        run_id=stream.attempt.run_id,
        attempt_id=stream.attempt_id,
        kind="load-fatal" if failed else "load-done",
        at=datetime.fromtimestamp(now, UTC),
        text=record.message if isinstance(record, load.Fatal) else "load finished",
        data={} if isinstance(record, load.Fatal) else {"ok": record.ok, "cpu_s": record.cpu_s},
        actor="load driver",
    )
