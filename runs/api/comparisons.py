"""A comparison of arms, the first of them the baseline."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from django.http import HttpRequest
from ninja import Query, Router, Schema
from ninja.errors import HttpError

from runs.access import NoSuchArms, get_arms
from runs.caveatgroups import CaveatGroup
from runs.comparisons import Compared, Pair, compare_arms
from runs.differences import Coverage, coverage, differences
from runs.excerpts import Excerpt, excerpts
from runs.gains import Gain, gains
from runs.judging import Judged
from runs.metrics.verdict import Verdict
from runs.models import CaveatTest, Dismissal
from runs.snapshots import log_told, note_told, notes_around, smoke_test

router = Router(tags=["comparisons"])


class ChangeOut(Schema):
    """One metric at one concurrency. ``ratio`` is after over before, ``change`` ratio − 1."""

    concurrency: int
    metric: str
    before: float | None
    after: float | None
    ratio: float | None
    change: float | None
    launches_before: int
    launches_after: int


class DifferenceOut(Schema):
    key: str
    before: str
    after: str
    group: str
    why: str


class VerdictOut(Schema):
    """A verdict on a level, or on the sweep (no concurrency). ``low`` and ``high`` bound the ratio.

    ``word`` is of the closed list of docs/glossary.md, "likely" before it where that applies;
    ``p_adjusted`` is Holm's over the levels; ``more`` how many further launches per arm might tell.
    """

    concurrency: int | None
    word: str
    likely: bool
    ratio: float | None
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None
    factor: float | None
    more: int | None
    remarks: list[str]


class JudgementOut(Schema):
    """How the headline ``metric`` was judged: in blocks (``paired``) or not, and how surely."""

    metric: str
    delta: float
    confidence: float
    paired: bool
    noise_sd: float | None
    noise_assumed: bool | None
    sweep: VerdictOut
    levels: list[VerdictOut]


class BarOut(Schema):
    """A factor of output tok/s; ``ratio`` is after over before, ``low`` and ``high`` bound it."""

    key: str
    before: float
    after: float
    ratio: float
    low: float | None
    high: float | None


class LedgerOut(Schema):
    """Why, at one level: the product of the bars' ratios is ``ratio``, exactly.

    ``missing`` says why there are no bars, ``whole_level`` why ramp and drain are in them.
    """

    concurrency: int
    ratio: float
    bars: list[BarOut]
    break_even: float | None
    margin: float | None
    missing: str
    whole_level: str


class PairOut(Schema):
    base: int
    other: int
    sentence: str
    provisional: bool
    verdict: JudgementOut | None  # none while an arm has no finished launch
    levels: list[ChangeOut]
    ledger: list[LedgerOut]
    differences: list[DifferenceOut]


class LineOut(Schema):
    """A line of a short imported log. ``strict_rate``: drafts accepted per draft proposed."""

    phase: str
    running: int | None
    waiting: int | None
    output_tps: float | None
    accept_len: float | None
    accept_rate: float | None
    graph: bool | None
    strict_rate: float | None


class LogOut(Schema):
    """The lines of an arm whose whole log is a short excerpt, and how many were damaged."""

    lines: list[LineOut]
    damaged: int
    active: str


class NoteOut(Schema):
    kind: str
    on: str
    text: str


class LeftOutOut(Schema):
    """A launch that does not count, and why."""

    run: int
    state: str
    reason: str
    text: str


class ArmOut(Schema):
    id: int
    name: str
    host: str
    simulated: bool
    launches: int
    running_limit: int | None
    log: LogOut | None
    left_out: list[LeftOutOut]


class DismissalOut(Schema):
    """Why a caveat does not matter here, who said so, and when."""

    id: int
    reason: str
    by: str | None
    at: datetime

    @staticmethod
    def of(told: Dismissal | None) -> DismissalOut | None:
        if told is None:
            return None
        by = str(told.by) if told.by else None
        return DismissalOut(id=told.pk, reason=told.reason, by=by, at=told.at)


class TestOut(Schema):
    """A counter-experiment: its campaign, and its outcome once it has ended."""

    campaign: int
    words: str
    outcome: str
    text: str

    @staticmethod
    def of(test: CaveatTest) -> TestOut:
        words = test.plan.get("words", "")
        return TestOut(campaign=test.campaign_id, words=words, outcome=test.outcome, text=test.text)


class CaveatOut(Schema):
    """A rule's remarks. ``severity`` is block, warn or info; ``metric``: it touches that alone."""

    slug: str
    severity: str
    metric: str
    where: str
    texts: list[str]
    dismissal: DismissalOut | None
    tests: list[TestOut]

    @staticmethod
    def of(group: CaveatGroup) -> CaveatOut:
        return CaveatOut(
            **{name: getattr(group, name) for name in ("slug", "severity", "metric", "where")},
            texts=group.texts,
            dismissal=DismissalOut.of(group.dismissal),
            tests=[TestOut.of(test) for test in group.tests],
        )


class CompareOut(Schema):
    """``smoke_test``: whether the question before an import was answered rightly, if told."""

    smoke_test: bool | None
    arms: list[ArmOut]
    pairs: list[PairOut]
    caveats: list[CaveatOut]
    notes: list[NoteOut]


@router.get("", response=CompareOut, summary="Arms side by side, such as ?arms=3~4")
def read_comparison(
    request: HttpRequest, arms: Annotated[str, Query(pattern=r"^\d{1,18}(~\d{1,18}){0,5}$")]
) -> CompareOut:
    """Every arm against the first: changes by concurrency, differing keys, caveats.

    A single arm has no pairs, but its log, caveats and notes. The arms may be of different
    campaigns. 404 names an arm that is not there.
    """
    try:
        found = get_arms(arms)
    except NoSuchArms as missing:
        raise HttpError(404, missing.words) from None
    return compare_out(compare_arms(found))


def compare_out(compared: Compared) -> CompareOut:
    logs = {excerpt.side.arm.pk: excerpt for excerpt in excerpts(compared.sides)}
    arms = [side.arm for side in compared.sides]
    return CompareOut(
        smoke_test=smoke_test(compared),
        arms=[arm_out(told, logs.get(told.side.arm.pk)) for told in coverage(compared)],
        pairs=[pair_out(pair) for pair in compared.pairs],
        caveats=[CaveatOut.of(group) for group in compared.caveats],
        notes=[NoteOut(**note_told(note, compared)) for note in notes_around(arms)],
    )


def arm_out(told: Coverage, log: Excerpt | None) -> ArmOut:
    side = told.side
    return ArmOut(
        id=side.arm.pk,
        name=side.name,
        host=side.arm.host.name,
        simulated=side.arm.host.simulated,
        launches=side.n,
        running_limit=side.limit,
        log=LogOut(**log_told(log)) if log else None,
        left_out=[
            LeftOutOut(run=run.pk, state=run.state, reason=run.reason, text=run.reason_text)
            for run in (launch.run for launch in told.left_out)
        ],
    )


def judgement_out(judged: Judged) -> JudgementOut:
    found = judged.judgement
    noise = found.sweep.noise
    return JudgementOut(
        metric=judged.metric,
        delta=found.delta,
        confidence=1 - found.alpha,
        paired=judged.paired,
        noise_sd=noise.sd if noise else None,
        noise_assumed=noise.assumed if noise else None,
        sweep=verdict_out(found.sweep),
        levels=[verdict_out(level) for level in found.levels],
    )


def ledger_out(gain: Gain) -> LedgerOut:
    found = gain.ledger
    return LedgerOut(
        concurrency=gain.concurrency,
        ratio=gain.after / gain.before,
        bars=[
            BarOut(**{name: getattr(bar, name) for name in BarOut.model_fields})
            for bar in found.bars
        ],
        break_even=found.break_even,
        margin=found.margin,
        missing=found.missing,
        whole_level=gain.whole,
    )


def verdict_out(found: Verdict) -> VerdictOut:
    same = {"ratio", "low", "high", "p", "p_adjusted", "factor", "more", "likely", "concurrency"}
    return VerdictOut(
        word=found.text,
        remarks=list(found.remarks),
        **{name: getattr(found, name) for name in same},
    )


def pair_out(pair: Pair) -> PairOut:
    found, _ = differences(pair)
    return PairOut(
        base=pair.base.arm.pk,
        other=pair.other.arm.pk,
        sentence=pair.sentence,
        provisional=pair.provisional,
        verdict=None if pair.provisional else judgement_out(pair.judged),
        levels=[
            ChangeOut(**{name: getattr(change, name) for name in ChangeOut.model_fields})
            for change in pair.changes
        ],
        ledger=[
            ledger_out(gain)
            for gain in gains(pair.base, pair.other, [row.concurrency for row in pair.rows])
        ],
        differences=[
            DifferenceOut(**{name: getattr(row, name) for name in DifferenceOut.model_fields})
            for row in found
        ],
    )
