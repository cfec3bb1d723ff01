"""The table of a comparison's levels: one figure at a time, each judged by the one verdict.

The headline's figures stand in the comparison already; any other is judged when it is asked for,
with its own direction and its own smallest change that matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cached_property
from statistics import geometric_mean

from runs.answers import Answers
from runs.comparisons import Dot, Pair, Row, spread
from runs.gains import Gain
from runs.judging import judge
from runs.metrics.catalogue import METRICS
from runs.metrics.compare import LevelChange, of_metric
from runs.metrics.noise import Noise
from runs.metrics.sentence import change_words, interval_words
from runs.metrics.verdict import Case, Judgement, Verdict, verdict
from runs.models import Level, Run, State
from runs.sides import FIGURES
from runs.templatetags.measures import change
from runs.viewstate import PICKED, SORTS, ViewState

STEPS = "steps"


@dataclass(frozen=True)
class MetricRow(Row):
    """A level's row of any figure; ``shown`` is its change, ``figures`` what each launch told."""

    shown: LevelChange | None = None
    falls: bool = False  # less of it is better
    failures: Sequence[Failure] = ()

    @property
    def headline(self) -> LevelChange:
        return self.shown or super().headline

    @property
    def tone(self) -> str:
        found = super().tone
        turned = self.falls and not self.judged
        return {"up": "down", "down": "up"}.get(found, found) if turned else found

    @property
    def change_words(self) -> str:
        """Plus is better, whichever way the figure went."""
        found = self._turned
        return "" if found is None else change_words(found)

    @property
    def shown_change(self) -> str:
        """The change that is judged, else that of the means."""
        ratio = self.headline.ratio
        return self.change_words or change(2 - ratio if self.falls and ratio else ratio)

    @property
    def interval(self) -> str:
        found = self._turned
        return "" if found is None else interval_words(found)

    @property
    def shown_edited(self) -> tuple[bool, bool]:
        """Whether the figure of either side is of a window moved by hand."""
        of_log = self.headline.metric in ("accept_len", STEPS)
        return self.edited_log if of_log else self.edited

    @property
    def raw_words(self) -> str:
        """Which way the figure went, in full: for whoever points at it."""
        ratio = self.headline.ratio
        if ratio is None:
            return ""
        way = "higher" if ratio > 1 else "lower" if ratio < 1 else "the same"
        return f"× {ratio:.5f}: {abs(ratio - 1) * 100:.2f} % {way}"

    @property
    def _turned(self) -> Verdict | None:
        found = self.verdict
        if found is None or not found.judged or not self.falls:
            return found if found and found.judged else None
        low = None if found.high is None else 2 - found.high
        high = None if found.low is None else 2 - found.low
        return replace(found, ratio=2 - (found.ratio or 1.0), low=low, high=high)


@dataclass(frozen=True)
class Repeat:
    """A launch at one level, as an open row lists it."""

    letter: str
    name: str
    run: Run
    value: float | None
    started: datetime | None
    block: int | None


@dataclass(frozen=True)
class Failure:
    """A launch that ended badly before or at this level, and what it said."""

    name: str
    letter: str
    run: Run
    said: str


@dataclass(frozen=True)
class LevelTable:
    """The rows that the state asks for. ``hidden`` counts those that it hides."""

    pair: Pair
    state: ViewState
    metric: str
    headline: str
    rows: list[MetricRow]
    every: list[MetricRow]
    judgement: Judgement
    is_folded: bool = False  # of an arm that is not looked at
    missing: str = ""  # why there is nothing to show of this figure

    @property
    def label(self) -> str:
        return PICKED[self.metric]

    @property
    def kind(self) -> str:
        """How a value is written: "tps", "ms", "tokens" or "rate"."""
        kinds = {"tok/s": "tps", "s": "ms", "tokens": "tokens", "1/s": "rate"}
        return kinds[METRICS[self.metric].unit]

    @property
    def column(self) -> str:
        """The unit under an arm's name; what needs none is called by its name."""
        return {"output_tps": "tok/s", "user_tps": "tok/s/user", STEPS: "steps/s"}.get(
            self.metric, self.label
        )

    @property
    def less(self) -> tuple[str, str]:
        """Of speed per user and aggregate the one that is not the headline goes on a phone."""
        return ("hide-sm", "") if self.headline == "output_tps" else ("", "hide-sm")

    @property
    def same(self) -> int:
        """How many rows say that nothing differs."""
        return sum(row.tone == "same" for row in self.every)

    @property
    def sort_query(self) -> str:
        return self.state.query(sort=SORTS[0] if self.state.sort == SORTS[1] else SORTS[1])

    @property
    def hide_query(self) -> str:
        return self.state.query(hide=not self.state.hide)

    @property
    def reset(self) -> str:
        return self.state.query(hide=False, filter="")

    @property
    def closed(self) -> str:
        return self.state.query(open=None)

    @property
    def kept(self) -> list[tuple[str, str]]:
        """What a form for the filter sends along."""
        return replace(self.state, filter="").pairs()

    @property
    def exploratory(self) -> bool:
        return self.metric != self.headline

    @property
    def falls(self) -> bool:
        return METRICS[self.metric].better == "down"

    @property
    def hidden(self) -> int:
        return len(self.every) - len(self.rows)

    @property
    def hiding(self) -> str:
        """The filters that hide rows, by name."""
        named = ["“no difference” is hidden"] if self.state.hide else []
        return " and ".join([*named, *([f"“{self.state.filter}”"] if self.state.filter else [])])

    @property
    def has_intervals(self) -> bool:
        return any(row.interval for row in self.every)

    @property
    def paired(self) -> bool:
        return self.pair.judged.paired and self.metric != STEPS

    @cached_property
    def repeats(self) -> list[Repeat]:
        """Of the open row: every launch that counts, in the order in which they were started."""
        level = self.state.open
        if level is None:
            return []
        found = [
            Repeat(side.letter, side.name, launch.run, value, launch.run.started_at, None)
            for side in (self.pair.base, self.pair.other)
            for launch in side.counted
            for value in [_value(launch.measured, level, self.metric)]
        ]
        if any(each.started is None for each in found):
            return found
        ordered = sorted(found, key=lambda each: (each.started, each.run.pk))
        if not self.paired:
            return ordered
        return [replace(each, block=i // 2 + 1) for i, each in enumerate(ordered)]

    @cached_property
    def _open_verdict(self) -> Verdict | None:
        rows = (each for each in self.every if each.concurrency == self.state.open)
        return next((row.verdict for row in rows), None)

    @property
    def noise_words(self) -> str:
        """Where the noise of the open row comes from."""
        noise = self._open_verdict.noise if self._open_verdict else None
        return "" if noise is None else _noise_words(noise, self.pair.judged.host)

    @property
    def reproduce(self) -> str:
        """The command that says the same of the open row."""
        found = self._open_verdict
        if found is None or not found.judged:
            return ""
        noise = found.noise
        prior = f" --prior-sd {noise.sd:.5f} --prior-df {noise.df:g}" if noise else ""
        if noise and noise.assumed:
            prior = ""
        paired = " --paired" if self.paired else ""
        return (
            f"manage.py verdict --metric {self.metric} --delta {self.judgement.delta:g}"
            f" --baseline {_listed(found.before)} --candidate {_listed(found.after)}{prior}{paired}"
        )


def failures(pair: Pair, concurrency: int) -> list[Failure]:
    """Launches of either arm that ended badly without this level."""
    return [
        Failure(side.name, side.letter, launch.run, first_words(launch.run))
        for side in (pair.base, pair.other)
        for launch in side.launches
        if launch.run.is_final and launch.run.state != State.SUCCEEDED
        for level in launch.levels
        if level.concurrency == concurrency and level.state != Level.State.DONE
    ]


def first_words(run: Run) -> str:
    """The first line of the log that tells an error, else the run's own reason."""
    errors = [line for line in run.last_lines if "error" in line.lower()]
    told = errors[0] if errors else run.told or run.get_reason_display()
    return told.strip()[:200]


def level_table(
    pair: Pair, gains: Sequence[Gain], given: Answers, state: ViewState, *, is_folded: bool = False
) -> LevelTable:
    """The table that ``state`` asks for."""
    headline = pair.judged.metric
    metric = state.metric or headline
    if metric == headline:
        judgement = pair.judged.judgement
        every = [_row(pair, row, row.headline, row.verdict, row.dots) for row in pair.rows]
    else:
        judgement, changes = _judged(pair, gains, given, metric)
        every = [
            _row(
                pair,
                row,
                changes[row.concurrency],
                None if pair.provisional else judgement.at(row.concurrency),
                _dots(pair, gains, metric, row.concurrency),
            )
            for row in pair.rows
            if row.concurrency in changes
        ]
    known = any(r.headline.before is not None or r.headline.after is not None for r in every)
    return LevelTable(
        pair=pair,
        state=state,
        metric=metric,
        headline=headline,
        rows=_asked(every, state),
        every=every,
        judgement=judgement,
        is_folded=is_folded,
        missing="" if known else _missing(metric),
    )


def _missing(metric: str) -> str:
    told = PICKED[metric]
    if metric in (STEPS, "accept_len"):
        return f"No {told} was read: it comes from the server's log."
    return f"No {told} was measured in either arm."


def _row(
    pair: Pair, row: Row, shown: LevelChange, found: Verdict | None, dots: list[Dot]
) -> MetricRow:
    kept = {each.name: getattr(row, each.name) for each in fields(Row)}
    return MetricRow(
        **{**kept, "verdict": found, "dots": dots},
        shown=shown,
        falls=METRICS[shown.metric].better == "down",
        failures=failures(pair, row.concurrency),
    )


def _judged(
    pair: Pair, gains: Sequence[Gain], given: Answers, metric: str
) -> tuple[Judgement, dict[int, LevelChange]]:
    if metric in FIGURES:
        changes = of_metric(pair.changes, metric)
        found = judge(pair.base, pair.other, metric, given, exploratory=True).judgement
        return found, {change.concurrency: change for change in changes}
    case = Case(
        before=_by_launch([(g.concurrency, g.steps[0]) for g in gains]),
        after=_by_launch([(g.concurrency, g.steps[1]) for g in gains]),
        metric=STEPS,
        exploratory=True,
    )
    changes = [_change_of(gain) for gain in gains]
    return verdict(case), {change.concurrency: change for change in changes}


def _by_launch(told: Sequence[tuple[int, Sequence[float]]]) -> list[dict[int, float]]:
    """The n-th value of each level together: launches measure their levels in one order."""
    most = max((len(values) for _, values in told), default=0)
    return [{c: values[i] for c, values in told if i < len(values)} for i in range(most)]


def _change_of(gain: Gain) -> LevelChange:
    before, after = (_mean(values) for values in gain.steps)
    ratio = after / before if before and after else None
    counts = (len(gain.steps[0]), len(gain.steps[1]))
    change = None if ratio is None else ratio - 1
    return LevelChange(gain.concurrency, STEPS, before, after, ratio, change, *counts)


def _mean(values: Sequence[float]) -> float | None:
    return geometric_mean(values) if values else None


def _dots(pair: Pair, gains: Sequence[Gain], metric: str, concurrency: int) -> list[Dot]:
    sides = (pair.base, pair.other)
    if metric in FIGURES:
        return spread([(s.letter, v) for s in sides for v in s.values(metric, concurrency)])
    found = next((gain.steps for gain in gains if gain.concurrency == concurrency), ([], []))
    return spread([(s.letter, v) for s, values in zip(sides, found, strict=True) for v in values])


def _value(levels: Sequence[Level], concurrency: int, metric: str) -> float | None:
    if metric not in FIGURES:
        return None
    column = FIGURES[metric]
    return next((getattr(lv, column) for lv in levels if lv.concurrency == concurrency), None)


def _asked(every: Sequence[MetricRow], state: ViewState) -> list[MetricRow]:
    rows = [row for row in every if not (state.hide and row.tone == "same")]
    words = state.filter.lower().split()
    rows = [row for row in rows if all(_holds(row, word) for word in words)]
    if state.sort == "factor":
        rows.sort(key=lambda row: (row.factor is None, -(row.factor or 0.0)))
    return rows


def _holds(row: MetricRow, word: str) -> bool:
    """A number is that level's alone; any other word may be part of one."""
    if word.isdigit():
        return int(word) == row.concurrency
    return word in f"{row.word} {'capped' if row.capped else ''} {row.capped}".lower()


def _noise_words(noise: Noise, host: str) -> str:
    percent = f"{noise.sd * 100:.2g} % a launch"
    if noise.assumed:
        return f"{percent}, assumed: too few earlier repeats on {host} to know it"
    return f"{percent}, from {noise.history} earlier repeats on {host}"


def _listed(values: Sequence[float]) -> str:
    return ",".join(f"{value:.6g}" for value in values)
