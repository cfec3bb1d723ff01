"""What the page of one run shows, read from the database. The live stream sends parts of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils import timezone

from runs.charts import LAST, READ, Line, Readings, ratio, readings
from runs.expected import left_of
from runs.models import Arm, Attempt, Caveat, Event, Level, LogStream, Run, Sample, State
from runs.models.states import ACTIVE
from runs.templatetags.measures import MINUS, clock, number

PHASE_WORDS = {
    State.ACQUIRING: ("waiting for the host", "acquired"),
    State.PREPARING: ("preparing", "prepared"),
    State.STARTING: ("starting server", "server started"),
    State.WAITING_READY: ("waiting until ready", "ready"),
    State.MEASURING: ("measuring", "measured"),
    State.COLLECTING: ("collecting", "collected"),
}
# told by the phases bar and by the table of levels already, or in the log for each batch size
QUIET_EVENTS = {"state", "server_args", "load-done"}
EVENTS_SHOWN = 14


@dataclass(frozen=True)
class Phase:
    """One stretch of a run. ``seconds`` is None until it has begun; ``weight`` is its width."""

    state: str
    words: str
    seconds: float | None
    status: str  # done, now, next, failed
    weight: float


@dataclass(frozen=True)
class LevelRow:
    """A level of this run beside the baseline's. ``tps`` is provisional while it runs."""

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
class Number:
    """A big number and the baseline's beneath it. ``better`` is "", "better" or "worse"."""

    label: str
    value: float | None
    digits: int
    unit: str
    base: float | None
    change: float | None
    points: int | None  # the difference of two shares in points, where the value is a share
    better: str


@dataclass(frozen=True)
class Numbers:
    cells: list[Number]
    waiting: float | None
    base_waiting: float | None
    lines: int
    level: Level | None
    final: bool


@dataclass(frozen=True)
class EventRow:
    event: Event
    when: str  # since measuring began ("5:31", "−0:24"), else the time of day
    words: str


@dataclass(frozen=True)
class CaveatRow:
    """A rule's remark; ``evidence`` is the measured value in words."""

    title: str
    text: str
    evidence: str
    found_at: datetime


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
    caveats: list[CaveatRow]
    elapsed: float | None
    left: float | None
    limit: int | None  # running requests that the server allows itself
    sentence: str
    last_lines: list[str]

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
    def failed_requests(self) -> int:
        return sum(row.level.failed for row in self.rows)

    @property
    def compare_url(self) -> str:
        """The comparison with the partner: the earlier arm of the campaign is the baseline."""
        if self.partner is None:
            return ""
        pair = sorted([self.partner, self.run.arm], key=lambda arm: arm.position)
        return f"{reverse('compare')}?arms={pair[0].pk}~{pair[1].pk}"


def is_speculative(arm: Arm) -> bool:
    return bool(arm.config.flags.get("--speculative-algorithm"))


def run_page(run: Run) -> RunPage:
    """Gather; a handful of queries whatever the length of the run."""
    attempt = run.attempts.order_by("-n").first()
    stream = server_stream(attempt)
    baseline = baseline_of(run)
    levels = list(attempt.levels.all()) if attempt else []
    running = [lv for lv in levels if lv.state == Level.State.RUNNING]
    elapsed = run.duration.total_seconds() if run.duration else None
    sentence, lines = split_reason(run.reason_text)
    events = list(run.events.exclude(kind__in=QUIET_EVENTS).order_by("-at", "-pk"))
    return RunPage(
        run=run,
        attempt=attempt,
        stream=stream,
        baseline=baseline,
        partner=partner_of(run.arm),
        phases=phases(run, timezone.now()),
        rows=level_rows(run, levels, baseline, stream),
        current=running[-1] if running else None,
        events=event_rows(events[:EVENTS_SHOWN], levels),
        events_left_out=max(0, len(events) - EVENTS_SHOWN),
        caveats=[caveat_row(c) for c in run.caveats.order_by("-found_at", "-pk")],
        elapsed=elapsed,
        left=left_of(run, elapsed) if run.is_active and elapsed is not None else None,
        limit=running_limit(run.arm, attempt),
        sentence=sentence,
        last_lines=lines,
    )


def server_stream(attempt: Attempt | None) -> LogStream | None:
    if attempt is None:
        return None
    return attempt.streams.filter(role=LogStream.Role.SERVER).first()


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


def split_reason(text: str) -> tuple[str, list[str]]:
    """The sentence of an ending, and the last log lines that were kept with it."""
    sentence, _, lines = text.partition("Last lines of the server log:")
    return sentence.strip(), lines.strip("\n").splitlines() if lines else []


def phases(run: Run, now: datetime) -> list[Phase]:
    """The run's way through its states, as wide as the time each took."""
    begun = {
        event.data.get("to"): event.at for event in run.events.filter(kind="state").order_by("pk")
    }
    known = [state for state in ACTIVE if state in begun]
    if not known and run.is_final:
        return []  # an import, or it was stopped before it began
    ends = [*(begun[s] for s in known[1:]), run.ended_at or now][: len(known)]
    spent = {s: (end - begun[s]).total_seconds() for s, end in zip(known, ends, strict=True)}
    whole = sum(spent.values()) or 1.0
    return [_phase(run, state, known, spent.get(state), whole) for state in ACTIVE]


def _phase(
    run: Run, state: State, known: list[State], seconds: float | None, whole: float
) -> Phase:
    now, done = PHASE_WORDS[state]
    if seconds is None:
        return Phase(state, now, None, "next", 0.06)
    last = state == known[-1]
    ended_badly = run.is_final and run.state != State.SUCCEEDED
    if last and ended_badly:
        status = "failed"
    else:
        status = "now" if last and not run.is_final else "done"
    words = done if status == "done" else now
    return Phase(state, words, seconds, status, max(seconds / whole, 0.06))


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
        rows.append(LevelRow(level, tps, before, ratio(tps, before), provisional))
    return rows


def _tps_by_concurrency(run: Run | None) -> dict[int, float]:
    if run is None:
        return {}
    done = Level.objects.filter(attempt__run=run, output_tps__isnull=False).order_by("attempt__n")
    return {level.concurrency: level.output_tps for level in done if level.output_tps is not None}


def event_rows(events: Sequence[Event], levels: Sequence[Level]) -> list[EventRow]:
    zero = measuring_start(levels)
    return [EventRow(event, _when(event, zero), _words(event)) for event in events]


def _when(event: Event, zero: float | None) -> str:
    if zero is None:
        return f"{event.at:%H:%M:%S}"
    seconds = event.at.timestamp() - zero
    return f"{MINUS if seconds < 0 else ''}{clock(abs(seconds))}"


def _words(event: Event) -> str:
    """What happened. A line of the server's log is linked, so its kind is enough."""
    kind = event.kind.replace("_", " ").replace("-", " ")
    if event.stream_id is not None:
        why = str(event.data.get("why", ""))
        return f"{kind} line: {why}" if event.kind == "damaged" else kind
    return event.text or kind


def caveat_row(caveat: Caveat) -> CaveatRow:
    return CaveatRow(
        title=caveat.slug.replace("-", " ").capitalize(),
        text=caveat.text,
        evidence=evidence_words(caveat.evidence),
        found_at=caveat.found_at,
    )


def evidence_words(evidence: dict[str, Any]) -> str:
    """ "limit 21, concurrency 32": the measured values, each with its name."""
    parts = []
    for key, value in evidence.items():
        if isinstance(value, float):
            value = number(value, 2)
        elif isinstance(value, list | tuple):
            value = ", ".join(map(str, value))
        elif isinstance(value, dict):
            value = ", ".join(f"{k}: {v}" for k, v in value.items())
        parts.append(f"{key.replace('_', ' ')} {value}")
    return " · ".join(parts)


def measuring_start(levels: Sequence[Level]) -> float | None:
    """Epoch seconds of the first level's start."""
    starts = [level.started for level in levels if level.started is not None]
    return min(starts) if starts else None


def last_decode(stream: LogStream, n: int = LAST) -> list[Line]:
    lines = stream.samples.filter(phase=Sample.Phase.DECODE).order_by("-seq")
    return list(lines.values_list(*READ, named=True)[:n])


def numbers(page: RunPage, base: Readings | None) -> Numbers:
    """The big numbers: of the last decode lines while it runs, of the last level afterwards."""
    level = page.current or _last_done(page)
    own = _own_readings(page, level)
    if own is None:
        return Numbers([], None, None, 0, level, page.run.is_final)
    pairs: list[tuple[str, str, int, str, int]] = [
        ("output tok/s", "output_tps", 0, "", 1),
        ("accept len", "accept_len", 2, "", 1),
        ("steps", "steps", 1, "per s", 0),
        ("running, waiting", "running", 0, "", 0),
        ("KV usage", "token_usage", 2, "", 0),
    ]
    cells = [_number(own, base, *pair) for pair in pairs]
    return Numbers(
        cells=cells,
        waiting=own.waiting,
        base_waiting=base.waiting if base else None,
        lines=own.lines,
        level=level,
        final=page.run.is_final,
    )


def _number(
    own: Readings, base: Readings | None, label: str, key: str, digits: int, unit: str, good: int
) -> Number:
    """One cell. Only more throughput and more accept len are good by themselves (``good``)."""
    value, before = getattr(own, key), getattr(base, key) if base else None
    change = ratio(value, before)
    better = ""
    if good and change is not None and abs(change - 1) >= 0.005:
        better = "better" if change > 1 else "worse"
    if key == "output_tps" and value is not None and value < 100:
        digits = 1
    points = None
    if key == "token_usage":  # a share: a per cent of a per cent would mislead
        change, points = None, None if None in (value, before) else round(100 * (value - before))
    return Number(label, value, digits, unit, before, change, points, better)


def _own_readings(page: RunPage, level: Level | None) -> Readings | None:
    if page.stream is None:
        return None
    if page.run.is_active or level is None or level.started is None:
        lines = last_decode(page.stream)
    else:
        lines = in_window(page.stream, level)
    return readings(lines, speculative=page.speculative) if lines else None


def _last_done(page: RunPage) -> Level | None:
    done = [row.level for row in page.rows if row.level.state == Level.State.DONE]
    return done[-1] if done else None


def in_window(stream: LogStream, level: Level) -> list[Line]:
    """The decode lines printed inside a level's window."""
    if level.started is None or level.ended is None:
        return []
    lines = stream.samples.filter(
        phase=Sample.Phase.DECODE, time__gte=level.started, time__lte=level.ended
    )
    return list(lines.values_list(*READ, named=True).order_by("seq"))


def baseline_readings(page: RunPage) -> Readings | None:
    """The baseline's medians at the level that the big numbers speak of."""
    level = page.current or _last_done(page)
    if level is None or page.baseline is None:
        return None
    attempt = page.baseline.attempts.order_by("-n").first()
    stream = server_stream(attempt)
    if attempt is None or stream is None:
        return None
    same = attempt.levels.filter(concurrency=level.concurrency, state=Level.State.DONE).first()
    lines = in_window(stream, same) if same else []
    return readings(lines, speculative=is_speculative(page.baseline.arm)) if lines else None


def marks(page: RunPage) -> dict[str, Any]:
    """What the charts draw besides points: level bands, flags, the baseline's levels."""
    flags = [
        {"t": row.event.at.timestamp(), "text": row.words[:40], "kind": row.event.kind}
        for row in page.events
        if row.event.kind in ("retraction", "crash")
    ]
    return {
        "levels": [_band(row.level) for row in page.rows],
        "flags": flags,
        "limit": page.limit,
        "letter": page.run.arm.letter,
        "final": page.run.is_final,
        "baseline": _baseline_marks(page.baseline),
    }


def _band(level: Level) -> dict[str, Any]:
    return {
        "c": level.concurrency,
        "start": level.started,
        "end": level.ended,
        "state": level.state,
    }


def _baseline_marks(baseline: Run | None) -> dict[str, Any] | None:
    if baseline is None:
        return None
    levels = Level.objects.filter(attempt__run=baseline).order_by("attempt__n", "index")
    return {"run": baseline.pk, "name": baseline.arm.name, "levels": [_band(lv) for lv in levels]}
