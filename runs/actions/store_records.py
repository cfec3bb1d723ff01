"""From records of the pure readers to rows. Called inside the recorder's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db.models import F

from runs.actions.bulk import SampleRows, insert_samples
from runs.actions.conclude import measure_by_log
from runs.drivers import load_records as load
from runs.drivers.registry import DRIVERS
from runs.engines import base
from runs.models import Event, Level, LogChunk, LogStream, Operation
from runs.models.sample import BEGUN, ENDED

DAY_S = 86_400.0  # a clock on the node may be ahead of ours


def store_engine_records(stream: LogStream, records: Sequence[base.Record], now: float) -> None:
    """Samples get the stream's next numbers; damaged records are counted and kept as events."""
    offset_s = stream.attempt.facts.get("utc_offset_s")
    samples = [r for r in records if isinstance(r, base.Sample)]
    damaged = [r for r in records if isinstance(r, base.Damaged)]
    events = [r for r in records if isinstance(r, base.Event)]
    rows = SampleRows(stream.pk, stream.next_seq)
    arrived = zip(samples, arrivals(now, len(samples)), strict=True)
    insert_samples([rows.at(each, epoch(each.time, offset_s, when)) for each, when in arrived])
    if any(e.kind == "crash" for e in events):
        events = _without_our_stop(stream, events, offset_s)
    Event.objects.bulk_create(
        [event_row(stream, e.kind, e.text, e.data, e, offset_s, now) for e in events]
        + [event_row(stream, "damaged", d.text, {"why": d.reason}, d, None, now) for d in damaged]
    )
    LogStream.objects.filter(pk=stream.pk).update(
        next_seq=rows.seq, damaged=F("damaged") + len(damaged)
    )


def _without_our_stop(
    stream: LogStream, events: list[base.Event], offset_s: float | None
) -> list[base.Event]:
    """Call what looks like a crash after we asked the server to stop by its name.

    SGLang ends its own processes by signals then, and its watchdog logs that one crashed.
    """
    stops = Operation.objects.filter(attempt=stream.attempt_id, kind=Operation.Kind.STOP)
    asked = stops.order_by("planned_at").first()
    if asked is None:
        return events
    begin = int(asked.planned_at.timestamp())
    return [
        replace(e, kind="server-stopping")
        if e.kind == "crash" and (epoch(e.time, offset_s, None) or 0) >= begin
        else e
        for e in events
    ]


def arrivals(now: float, count: int) -> list[float]:
    """When the lines of one write arrived: evenly over the time since the last write."""
    step = settings.DURATIONS.flush / max(count, 1)
    return [now - step * (count - 1 - i) for i in range(count)]


def epoch(printed: str | None, utc_offset_s: float | None, arrived: float | None) -> float | None:
    """Epoch seconds of a printed local time; ``None`` if it has no date or no known offset.

    The print has whole seconds. A line that arrived within its own second (it was followed live)
    is placed at its arrival, so that several lines of one second keep their distances.
    """
    if not printed or utc_offset_s is None:
        return None
    printed = _with_year(printed, utc_offset_s, arrived)
    if "T" not in printed or len(printed.split("T")[0]) != 10:
        return None
    second = datetime.fromisoformat(printed).replace(tzinfo=UTC).timestamp() - utc_offset_s
    if arrived is not None and second <= arrived < second + 2.0:
        return min(arrived, second + 0.999)
    return second


def _with_year(printed: str, utc_offset_s: float, arrived: float | None) -> str:
    """vLLM prints no year: it is the year in which the line came, or the one before it."""
    if arrived is None or len(printed.split("T")[0]) != 5:
        return printed
    local = datetime.fromtimestamp(arrived + utc_offset_s + DAY_S, UTC)
    year = local.year if printed[:5] <= f"{local:%m-%d}" else local.year - 1
    return f"{year}-{printed}"


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
                    state=Level.State.RUNNING,
                    requests=record.requests,
                    started=record.t,
                    summary={BEGUN: record.offset},
                )
            case load.CacheSet():
                _cache_set(stream, record)
            case load.Progress():
                _level(stream, record.level).update(**progress_values(record))
            case load.LevelEnd():
                level = _level(stream, record.level).get()
                end = _told_by_driver(stream, level, record)
                _level(stream, record.level).update(**level_values(end, planned=level.requests))
                level.refresh_from_db()
                if level.state == Level.State.DONE:
                    # from the log as far as it is stored; measured once more when all of it is
                    measure_by_log(level)
            case load.Done() | load.Fatal():
                _load_event(stream, record, now)


def _level(stream: LogStream, index: int) -> Any:
    return Level.objects.filter(attempt_id=stream.attempt_id, index=index)


def _read_again(stream: LogStream, level: Level, end: load.LevelEnd) -> dict[str, Any]:
    newest = LogChunk.objects.filter(stream=stream).order_by("-offset").first()
    upto = newest.offset + newest.length if newest else stream.position
    driver = DRIVERS[stream.attempt.run.arm.workload.driver]
    return driver.summary(end, stream.text(level.summary.get(BEGUN, 0), upto))


def progress_values(record: load.Progress) -> dict[str, Any]:
    """What is known so far; of somebody else's tool that may be nothing but the time."""
    told = {"done": record.done, "failed": record.failed, "ttft_s": record.ttft_p50}
    return {name: value for name, value in told.items() if value is not None} | {
        "requests": record.of
    }


def _cache_set(stream: LogStream, record: load.CacheSet) -> None:
    """Kept with the level and as an event: a level that began warm is not like the others."""
    level = _level(stream, record.level).get()
    told = {"policy": record.policy, "ok": record.ok, "text": record.text}
    level.summary = {**level.summary, "cache": told}
    level.save(update_fields=["summary"])
    done = "Cache flushed" if record.ok else f"The server did not flush its cache ({record.status})"
    text = f"{done} before level {level.concurrency}."
    Event.objects.create(
        run_id=stream.attempt.run_id,
        attempt_id=stream.attempt_id,
        kind="cache-flushed" if record.ok else "cache-flush-failed",
        at=datetime.fromtimestamp(record.t, UTC),
        text=text if record.ok else f"{text} {record.text}".strip(),
        data=told,
        actor="load driver",
    )


def _told_by_driver(stream: LogStream, level: Level, end: load.LevelEnd) -> load.LevelEnd:
    """The end with its figures: a tool's are read from all that is stored since the level began.

    Not from what this process happens to remember: another one may have read the first half.
    """
    summary = end.summary if end.exit is None else _read_again(stream, level, end)
    kept = {name: level.summary[name] for name in ("cache", BEGUN) if name in level.summary}
    if end.exit is not None:
        kept[ENDED] = end.offset
    if end.prefix is not None:
        kept["prefix"] = end.prefix
    started, ended = summary.get("started"), summary.get("ended")
    return replace(
        end,
        summary={**summary, **kept},
        window_start=started if isinstance(started, float) else end.window_start,
        window_end=ended if isinstance(ended, float) else end.window_end,
    )


def level_values(end: load.LevelEnd, *, planned: int | None) -> dict[str, Any]:
    """The columns of a level that ended, from the driver's summary; unknown stays null.

    A level that was stopped before the ``planned`` requests has no figures: a request that was
    cut and clients that ran out of work would stand for the level. Nor has one of which a tool
    told no result.
    """
    told: dict[str, Any] = dict(end.summary)
    done, failed = told.get("requests"), told.get("failed")
    ended: dict[str, Any] = {
        "started": end.window_start,
        "ended": end.window_end,
        "summary": told,
        # a tool that died told neither: what was seen of it until then stays
        **({} if done is None else {"done": done}),
        **({} if failed is None else {"failed": failed}),
    }
    if told.get("problem") or (planned is not None and (done or 0) < planned):
        return {"state": Level.State.CUT, **ended}

    def part(name: str, key: str) -> Any:
        found = told.get(name)
        return found.get(key) if isinstance(found, dict) else None

    return {
        "state": Level.State.DONE,
        **ended,
        "output_tokens": told.get("output_tokens"),
        "cached_tokens": told.get("cached_tokens"),
        "prompt_tokens": told.get("prompt_tokens"),
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
