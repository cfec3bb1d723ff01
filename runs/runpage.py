"""What the page of one run shows, read from the database. The live stream sends parts of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from django.db.models import Max
from django.urls import reverse
from django.utils import timezone

from hosts.models import HostLink
from runs.caveatrows import CaveatRow, caveat_rows
from runs.charts import ratio, readings
from runs.drivers.registry import DRIVERS
from runs.drivers.summary import how_it_ended
from runs.expected import left_of
from runs.foretold import LevelForetold, foretold
from runs.gpupage import GpuTold, gpu_told
from runs.metrics.format import share
from runs.metrics.shown import MINUS, UNKNOWN
from runs.models import Arm, Attempt, Event, Level, LogStream, Run, State
from runs.runlines import is_speculative, last_decode, server_stream
from runs.runphases import Phase, phases
from runs.templatetags.measures import clock
from runs.windowpage import WindowRow, clock_words, window_rows

# told by the phases bar and by the table of levels already, or in the log for each batch size
QUIET_EVENTS = {
    "state",
    "server_args",
    "load-done",
    "graph_capture_sizes",
    "cache-flushed",
    "gpu-telemetry",
    "no-gpu-telemetry",
}
IN_WORDS = {"gpu-trouble", "gpu-strangers"}  # ours, though they come from a file on the node
EVENTS_SHOWN = 14
EVENTS_READ = 400  # the newest, of which neighbours that say the same are told once
FLAGGED = ("retraction", "crash", "server-restarted", "log-gap")
FLAGS = 30  # more of them would hide the line they explain


@dataclass(frozen=True)
class LevelRow:
    """A level of this run beside the baseline's. ``tps`` is provisional while it runs.

    It is the log's then and the baseline's is its client's, so no change is told of it; the big
    numbers compare log with log.
    """

    level: Level
    tps: float | None
    baseline_tps: float | None
    change: float | None
    provisional: bool

    @property
    def share(self) -> int:
        """Per cent of the requests done."""
        total = self.level.requests
        return min(100, round(100 * self.level.done / total)) if total else 0

    @property
    def itl_s(self) -> float | None:
        """Median seconds between two chunks; the driver's own word, none from imports."""
        return (self.level.summary.get("itl") or {}).get("p50")


@dataclass(frozen=True)
class EventRow:
    event: Event
    when: str  # since measuring began ("5:31", "−0:24"), else the time of day
    words: str


@dataclass(frozen=True)
class RunPage:
    """Everything on the page but the log and the points."""

    run: Run
    attempt: Attempt | None
    stream: LogStream | None
    baseline: Run | None
    partner: Arm | None  # the arm that its arm is compared with
    phases: list[Phase]
    rows: list[LevelRow]
    current: Level | None
    events: list[EventRow]
    events_left_out: int
    flagged: list[Event]  # those that the charts mark at their place
    caveats: list[CaveatRow]
    gpu: GpuTold | None  # None for an import
    windows: list[WindowRow]
    elapsed: float | None
    left: float | None
    limit: int | None  # running requests that the server allows itself
    sentence: str
    last_lines: list[str]
    read_at: datetime | None  # when the latest bytes came from the node

    @property
    def way(self) -> HostLink:
        """How the way to the host was last seen."""
        seen = HostLink.objects.filter(host=self.run.host_id).first()
        return seen or HostLink(host=self.run.host)

    @property
    def age(self) -> float | None:
        """Seconds since anything was last read of the run."""
        return None if self.read_at is None else (timezone.now() - self.read_at).total_seconds()

    @property
    def foretold(self) -> list[LevelForetold]:
        """What was foretold when it was confirmed, beside what it measured."""
        return foretold(self.run, [row.level for row in self.rows])

    @property
    def speculative(self) -> bool:
        return is_speculative(self.run.arm)

    @property
    def marked_failed(self) -> bool:
        return self.run.is_final and self.run.state != State.SUCCEEDED

    @property
    def last_text(self) -> str:
        return "\n".join(self.last_lines)

    @property
    def client_told(self) -> bool:
        """Whether a driver of ours counts requests; an import tells rates only."""
        return any(row.level.requests is not None for row in self.rows) or (
            bool(self.rows) and not self.run.imported
        )

    @property
    def clock_words(self) -> str:
        return clock_words(self.run, self.attempt)

    @property
    def itl_words(self) -> str:
        """What the driver calls an inter-token latency; the word has several meanings."""
        told = [(row.level.summary.get("formulas") or {}).get("itl") for row in self.rows]
        return next((str(each) for each in told if each), "gaps between chunks")

    @property
    def tool_levels(self) -> list[Level]:
        """Those of which a tool's own output is stored."""
        return [row.level for row in self.rows if "exit" in row.level.summary]

    @property
    def load_words(self) -> list[str]:
        """Who made the load, how warm the cache was, and tools that ended badly all the same."""
        driver = DRIVERS.get(self.run.arm.workload.driver)
        words = [f"Load by {driver.title}."] if driver else []
        if driver and self.run.arm.workload.cache_policy:
            policy = self.run.arm.workload.get_cache_policy_display()
            words.append(f"Cache: {policy}.")
        rates = [row.level.hit_rate for row in self.rows]
        if any(rate is not None for rate in rates):
            told = ", ".join("·" if rate is None else share(rate) for rate in rates)
            words.append(f"Prompt tokens from the prefix cache: {told}.")
        for row in self.rows:
            ended = row.level.summary.get("exit")
            if ended and ended.get("code") != 0:
                words.append(f"Level {row.level.concurrency}: the tool {how_it_ended(ended)}.")
        return words

    @property
    def failed_requests(self) -> int:
        return sum(row.level.failed for row in self.rows)

    @property
    def compare_url(self) -> str:
        """The comparison with the partner: the earlier arm of the campaign is the baseline."""
        if self.partner is None:
            return ""
        pair = sorted([self.partner, self.run.arm], key=lambda arm: arm.position)
        return f"{reverse('compare')}?arms={pair[0].pk}~{pair[1].pk}"


def run_page(run: Run) -> RunPage:
    """Gather; a handful of queries whatever the length of the run."""
    attempt = run.attempts.order_by("-n").first()
    stream = server_stream(attempt)
    baseline = baseline_of(run)
    levels = list(attempt.levels.all()) if attempt else []
    running = [lv for lv in levels if lv.state == Level.State.RUNNING]
    elapsed = run.duration.total_seconds() if run.duration else None
    telling = run.events.exclude(kind__in=QUIET_EVENTS).order_by("-at", "-pk")
    events = list(telling[: EVENTS_READ + 1])
    more = telling.count() - EVENTS_READ if len(events) > EVENTS_READ else 0
    rows = event_rows(events[:EVENTS_READ], levels)
    return RunPage(
        run=run,
        attempt=attempt,
        stream=stream,
        baseline=baseline,
        partner=partner_of(run.arm),
        phases=phases(run, timezone.now()),
        rows=level_rows(run, levels, baseline, stream),
        current=running[-1] if running else None,
        events=rows[:EVENTS_SHOWN],
        events_left_out=max(0, len(rows) - EVENTS_SHOWN) + more,
        flagged=list(telling.filter(kind__in=FLAGGED)[:FLAGS]),
        gpu=gpu_told(run, attempt),
        windows=window_rows(attempt, levels),
        caveats=caveat_rows(run),
        elapsed=elapsed,
        left=left_of(run, elapsed) if run.is_active and elapsed is not None else None,
        limit=running_limit(run.arm, attempt),
        sentence=run.told,
        last_lines=run.last_lines,
        read_at=read_at(attempt),
    )


def read_at(attempt: Attempt | None) -> datetime | None:
    """When anything was last read of what goes on on the node."""
    if attempt is None:
        return None
    latest: datetime | None = attempt.streams.aggregate(at=Max("read_at"))["at"]
    return latest


def baseline_of(run: Run) -> Run | None:
    """The latest good launch of the campaign's first arm; none for that arm itself."""
    return (
        Run.objects.filter(campaign=run.campaign_id, arm__position=0, state=State.SUCCEEDED)
        .exclude(arm=run.arm_id)
        .select_related("arm__config")
        .order_by("-launch")
        .first()
    )


def partner_of(arm: Arm) -> Arm | None:
    """The campaign's first arm; for that arm itself the second."""
    others = arm.campaign.arms.exclude(pk=arm.pk).order_by("position")
    return others.first()


def running_limit(arm: Arm, attempt: Attempt | None) -> int | None:
    """Effective ``max_running_requests``: of the log, else what an import states."""
    told = (attempt.startup if attempt else {}).get("max_running_requests")
    return told if told is not None else arm.config.effective.get("max_running_requests")


def level_rows(
    run: Run, levels: Sequence[Level], baseline: Run | None, stream: LogStream | None
) -> list[LevelRow]:
    base = _tps_by_concurrency(baseline)
    rows = []
    for level in levels:
        tps, provisional = level.output_tps, False
        if tps is None and level.state == Level.State.RUNNING and stream is not None:
            told = readings(last_decode(stream), speculative=is_speculative(run.arm))
            tps, provisional = told.output_tps, True
        before = base.get(level.concurrency)
        change = None if provisional else ratio(tps, before)
        rows.append(LevelRow(level, tps, before, change, provisional))
    return rows


def _tps_by_concurrency(run: Run | None) -> dict[int, float]:
    if run is None:
        return {}
    done = Level.objects.filter(attempt__run=run, output_tps__isnull=False).order_by("attempt__n")
    return {level.concurrency: level.output_tps for level in done if level.output_tps is not None}


def event_rows(events: Sequence[Event], levels: Sequence[Level]) -> list[EventRow]:
    """Neighbours that say the same are told once, with their number."""
    zero = measuring_start(levels)
    rows = []
    for words, same in groupby(events, _words):
        repeated = list(same)
        times = f" ×{len(repeated)}" if len(repeated) > 1 else ""
        rows.append(EventRow(repeated[0], _when(repeated[0], zero), f"{words}{times}"))
    return rows


PRINTED_TIME = re.compile(r"\b\d\d:\d\d:\d\d\b")


def _when(event: Event, zero: float | None) -> str:
    if event.run.imported:
        # its time is that of the import; when it happened is told by the line or by nobody
        printed = PRINTED_TIME.search(event.text[:60]) if event.stream_id is not None else None
        return printed[0] if printed else UNKNOWN
    if zero is None:
        return f"{event.at:%H:%M:%S}"
    seconds = event.at.timestamp() - zero
    return f"{MINUS if seconds <= -1 else ''}{clock(abs(seconds))}"


def _words(event: Event) -> str:
    """What happened. A line of the server's log is linked: its kind, and the value that counts."""
    if event.stream_id is None or event.kind in IN_WORDS:
        return event.text or _kind(event)
    if event.kind in EVENT_FORMS:
        form, key = EVENT_FORMS[event.kind]
        value = event.data.get(key)
        if value is not None:
            return form.format(value)
    return _kind(event)


def _kind(event: Event) -> str:
    return event.kind.replace("_", " ").replace("-", " ")


# of an event's data, the one value that is worth its place
EVENT_FORMS = {
    "damaged": ("damaged line: {}", "why"),
    "limit_reset": ("running limit set to {:,}", "max_running_requests"),
    "capacity": ("capacity, {:,} requests at once", "max_running_requests"),
    "kv_cache_allocated": ("KV cache allocated, {:,} tokens", "tokens"),
    "retraction": ("retraction, requests: {:,}", "requests"),
}


def measuring_start(levels: Sequence[Level]) -> float | None:
    """Epoch seconds of the first level's start."""
    starts = [level.started for level in levels if level.started is not None]
    return min(starts) if starts else None


def marks(page: RunPage) -> dict[str, Any]:
    """What the charts draw besides points: level bands, flags, the baseline's levels."""
    flags = [
        {"t": event.at.timestamp(), "text": _words(event)[:40], "kind": event.kind}
        for event in page.flagged
    ] + _note_flags(page)
    return {
        "levels": [_band(row.level) for row in page.rows],
        "flags": flags,
        "limit": page.limit,
        "letter": page.run.arm.letter,
        "final": page.run.is_final,
        "baseline": _baseline_marks(page.baseline),
    }


def _note_flags(page: RunPage) -> list[dict[str, Any]]:
    """Notes on a span of time, at its begin; their seconds count from the first level's start."""
    zero = measuring_start([row.level for row in page.rows])
    if zero is None:
        return []
    notes = page.run.notes.filter(t0__isnull=False).order_by("t0")[:FLAGS]
    return [
        {
            "t": zero + (note.t0 or 0.0),
            "text": f"note: {' '.join(note.text.split())}"[:40],
            "kind": "note",
        }
        for note in notes
    ]


def _band(level: Level) -> dict[str, Any]:
    return {
        "c": level.concurrency,
        "start": level.started,
        "end": level.ended,
        "state": level.state,
        "index": level.index,
        "window": _window_mark(level),
    }


def _window_mark(level: Level) -> dict[str, Any] | None:
    if level.window is None:
        return None
    span, source = level.window.span, level.window_source
    return {"start": span.start, "end": span.end, "source": source}


def _baseline_marks(baseline: Run | None) -> dict[str, Any] | None:
    if baseline is None:
        return None
    levels = Level.objects.filter(attempt__run=baseline).order_by("attempt__n", "index")
    return {"run": baseline.pk, "name": baseline.arm.name, "levels": [_band(lv) for lv in levels]}
