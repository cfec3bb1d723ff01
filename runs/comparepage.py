"""What the page of a comparison shows, for the state that its address asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runs.actions.compare import comparison_key
from runs.actions.launch import why_no_load, why_not_launchable
from runs.comparepresence import Missing, missing_of, progress_of
from runs.compareseries import change_series, comparison_series, front
from runs.comparisons import Compared, Pair, Row, compare_arms
from runs.differences import alike, chips, commands, coverage, differences
from runs.excerpts import excerpts
from runs.expected import expected_of_steps, price_minutes
from runs.gains import Why, why
from runs.gaps import gaps_of
from runs.leveltable import level_table
from runs.metrics.noise import Noise
from runs.metrics.sentence import listed
from runs.metrics.wording import DIRECTED, Word
from runs.models import Arm
from runs.plans import looks_of_comparison
from runs.sides import Side
from runs.viewstate import CHARTS, PICKED, ViewState, read

MOST = 6  # arms beside each other; more cannot be told apart
SHOWN = 3  # caveats before the fold
STEPS_FLAG = "--speculative-num-steps"


class PairView:
    """A pair with what differs in its configs and why one is faster; computed once."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.capped = [row.concurrency for row in pair.rows if row.capped]
        self.differences, self.keys = differences(pair)

    @cached_property
    def why(self) -> Why:
        levels = [row.concurrency for row in self.pair.rows]
        return why(self.pair.base, self.pair.other, levels, self.capped)

    @cached_property
    def alike(self) -> list[tuple[str, str]]:
        return alike(self.pair)

    @property
    def groups(self) -> list[tuple[str, int]]:
        """How many keys differ of each kind, in the order in which they are listed."""
        kinds = list(dict.fromkeys(row.group for row in self.differences))
        return [(kind, sum(row.group == kind for row in self.differences)) for kind in kinds]

    @property
    def equal(self) -> str:
        """That nothing differs is a result, too."""
        levels = [v for v in self.pair.judged.judgement.levels if v.judged]
        same = sum(level.word is Word.SAME for level in levels)
        if not same or any(level.word in DIRECTED for level in levels):
            return ""
        percent = f"{self.pair.judged.judgement.delta * 100:g} %"
        return (
            f"No difference larger than {percent} at any level: "
            f"equivalence is shown at {same} of {len(levels)}."
        )

    @property
    def assumed(self) -> str:
        """The noise that is a rule of thumb, and at which levels where the host tells some."""
        found = self.pair.judged.judgement
        told = [(level, level.noise) for level in found.levels if level.noise]
        assumed = [(level, noise) for level, noise in told if noise.assumed]
        if not assumed:
            return ""
        words = f"assumed noise {assumed[0][1].sd * 100:.2g} %"
        everywhere = len(assumed) == len(told) and (found.sweep.noise or assumed[0][1]).assumed
        return words if everywhere else f"{words} at {listed(v.concurrency for v, _ in assumed)}"

    @property
    def incomparable(self) -> list[str]:
        found = self.pair.judged.judgement.sweep
        return list(found.remarks) if found.word is Word.NOT_COMPARABLE else []

    @cached_property
    def missing(self) -> Missing | None:
        return missing_of(self.pair)


@dataclass(frozen=True)
class Head:
    """An arm in the bar on top. ``look`` is the address that looks at it, ``base`` the one with it
    as the baseline."""

    side: Side
    words: str
    look: str
    base: str
    looked_at: bool

    @property
    def newest(self) -> str:
        """The address of its latest launch."""
        return self.side.launches[-1].run.get_absolute_url() if self.side.launches else ""


def comparison_page(
    arms: Sequence[Arm], given: Sequence[tuple[str, str]] = (), wrong: Sequence[str] = ()
) -> dict[str, Any]:
    """Everything but the notes. ``given`` are the address's parameters."""
    compared = compare_arms(arms)
    key = comparison_key(arms)
    views = [PairView(pair) for pair in compared.pairs]
    levels = sorted({c for side in compared.sides for c in side.concurrencies})
    letters = [view.pair.other.letter for view in views]
    state = read(key, given, letters=letters, levels=levels)
    plain = ViewState(arms=key)
    focus = next((view for view in views if view.pair.other.letter == state.arm), views[0])
    return {
        "key": key,
        "state": state,
        "unknown": [*wrong, *state.unknown],
        "clean": plain.query(),
        "compared": compared,
        "campaigns": list({arm.campaign_id: arm.campaign for arm in arms}.values()),
        "swap": state.query(arms=swapped(key), arm=""),
        "heads": _heads(compared, state, focus),
        "add": _to_add(arms, state) if len(arms) < MOST else [],
        "more": state.query(arms=key) + "&find=" if len(arms) < MOST else "",
        "chips": chips(compared),
        **_caveats(compared),
        "pairs": views,
        "focus": focus,
        "said": focus.pair.sentence,
        "progress": progress_of(compared.sides),
        "table": level_table(focus.pair, focus.why.gains, compared.given, state),
        "folds": [_fold(view, compared, state) for view in views if view is not focus],
        "metrics": _metrics(state, focus.pair.judged.metric),
        **_charts(compared, views, state, levels),
        "every_arm": _every_arm(compared, levels) if len(views) > 1 else [],
        "coverage": coverage(compared),
        "excerpts": excerpts(compared.sides),
        "commands": commands(compared),
        "next": next_steps(compared),
        "gaps": gaps_of(compared),
        "looks": looks_of_comparison(compared),
    }


def _heads(compared: Compared, state: ViewState, focus: PairView) -> list[Head]:
    keys = state.arms.split("~")
    found = []
    for pk, (side, words) in zip(keys, compared.head, strict=True):
        first = "~".join([pk, *(other for other in keys if other != pk)])
        look = _look(side, compared, state)
        base = state.query(arms=first, arm="")
        found.append(Head(side, words, look, base, side is focus.pair.other))
    return found


def _look(side: Side, compared: Compared, state: ViewState) -> str:
    letter = "" if side is compared.pairs[0].other else side.letter
    return state.query(arm=letter, open=None)


@dataclass(frozen=True)
class Fold:
    """An arm that is not looked at. ``look`` is the address that looks at it, ``query`` asks for
    its tables alone."""

    view: PairView
    look: str
    query: str


def _fold(view: PairView, compared: Compared, state: ViewState) -> Fold:
    other = view.pair.other
    alone = ViewState(arms=state.arms, arm=other.letter)
    return Fold(view, _look(other, compared, state), alone.query())


def unfolded(arms: Sequence[Arm], letter: str) -> dict[str, Any] | None:
    """What a fold opens to: the arm's ledger and levels; None if no arm but the baseline is it."""
    compared = compare_arms(arms, only=letter)
    if not letter or not compared.pairs:
        return None
    pair = compared.pairs[0]
    view = PairView(pair)
    plain = ViewState(arms=comparison_key(arms))
    return {
        "pair": pair,
        "view": view,
        "focus": view,
        "state": plain,
        "table": level_table(pair, view.why.gains, compared.given, plain, is_folded=True),
    }


def others(arms: Sequence[Arm]) -> list[Arm]:
    """The campaign's arms that are not in the comparison yet."""
    return [arm for arm in arms[0].campaign.whole_arms if arm not in arms]


def _to_add(arms: Sequence[Arm], state: ViewState) -> list[tuple[Arm, str]]:
    return [(arm, state.query(arms=f"{state.arms}~{arm.pk}")) for arm in others(arms)]


def _caveats(compared: Compared) -> dict[str, Any]:
    standing = [group for group in compared.caveats if group.dismissal is None]
    return {
        "caveats": standing[:SHOWN],
        "more_caveats": standing[SHOWN:],
        "dismissed": [group for group in compared.caveats if group.dismissal is not None],
    }


@dataclass(frozen=True)
class Cell:
    """An arm at one level; ``row`` is its change, None of the baseline."""

    name: str
    letter: str
    value: float | None
    row: Row | None
    best: bool


@dataclass(frozen=True)
class EveryArm:
    """All arms at one level."""

    concurrency: int
    cells: list[Cell]


def _every_arm(compared: Compared, levels: Sequence[int]) -> list[EveryArm]:
    """The headline's figure of every arm, level by level."""
    metric = compared.pairs[0].judged.metric
    found = []
    for concurrency in levels:
        values = [side.mean(metric, concurrency) for side in compared.sides]
        most = max((value for value in values if value is not None), default=None)
        rows = [None, *(_row_at(pair, concurrency) for pair in compared.pairs)]
        cells = [
            Cell(side.name, side.letter, value, row, value is not None and value == most)
            for side, value, row in zip(compared.sides, values, rows, strict=True)
        ]
        found.append(EveryArm(concurrency, cells))
    return found


def _row_at(pair: Pair, concurrency: int) -> Row | None:
    return next((row for row in pair.rows if row.concurrency == concurrency), None)


@dataclass(frozen=True)
class Choice:
    """One of several things to look at."""

    value: str
    words: str
    query: str
    chosen: bool


def _metrics(state: ViewState, headline: str) -> list[Choice]:
    """The headline first; it needs no word in the address."""
    ordered = [headline, *(name for name in PICKED if name != headline)]
    chosen = state.metric or headline
    return [
        Choice(
            name,
            PICKED[name],
            state.query(metric="" if name == headline else name),
            name == chosen,
        )
        for name in ordered
    ]


def _charts(
    compared: Compared, views: Sequence[PairView], state: ViewState, levels: Sequence[int]
) -> dict[str, Any]:
    def noise(concurrency: int) -> Noise | None:
        found = (view.pair.judged.judgement.at(concurrency) for view in views)
        return next((each.noise for each in found if each and each.noise), None)

    base = compared.base.letter
    gains = [(base, view.pair.other.letter, view.why.gains) for view in views]
    series = comparison_series(compared.sides, noise, gains)
    per_gpu = all(side["gpus"] for side in series)
    chosen = state.level if state.level is not None else _telling(views, levels)
    return {
        "series": series,
        "per_gpu": per_gpu,
        "front": front(series, "gpu" if per_gpu else "output"),
        "changes": change_series(
            (view.pair.other.name, view.pair.other.letter, view.pair.judged.judgement)
            for view in views
        ),
        "levels": levels,
        "drawn_level": chosen,
        "zooms": {
            chart: state.query(zoom="" if state.zoom == chart else chart) for chart in CHARTS
        },
    }


def _telling(views: Sequence[PairView], levels: Sequence[int]) -> int | None:
    """The highest level that every arm measured below its limit; else the highest there is."""
    rows = [
        {
            row.concurrency
            for row in view.pair.rows
            if row.headline.change is not None and not row.capped
        }
        for view in views
    ]
    shared = set.intersection(*rows) if rows else set()
    return max(shared or levels, default=None)


def swapped(key: str) -> str:
    """The second arm as the baseline, the others behind it."""
    first, second, *rest = key.split("~")
    return "~".join([second, first, *rest])


def next_steps(compared: Compared) -> dict[str, Any] | None:
    """The obvious rerun: one speculative step more than the highest arm has, with its price."""
    known = [s for s in compared.sides if isinstance(s.flags.get(STEPS_FLAG), int)]
    if not known:
        return None
    top = max(known, key=lambda side: side.flags[STEPS_FLAG])
    if why_not_launchable(top.arm.config) or why_no_load(top.arm.workload):
        return None
    steps = top.flags[STEPS_FLAG] + 1
    return {
        "arm": top.arm,
        "steps": steps,
        "set": f"{STEPS_FLAG}={steps}",
        "minutes": price_minutes(top.arm, top.arm.host, [each.run for each in top.counted]),
        "expected": expected_of_steps(top.arm, steps, compared.measured),
    }
