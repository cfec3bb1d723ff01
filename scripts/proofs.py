"""What `make demo-verdicts` measures, and what must come of it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.utils import timezone

from hosts.models import Host
from people.models import Person
from runs.actions.cancel import cancel_run
from runs.actions.launch import NewArm, launch_campaign
from runs.actions.missing import missing_launches, run_missing
from runs.comparisons import Compared, Pair, compare_arms
from runs.gains import Gain, why
from runs.management.commands.demo_seed import MODEL, speculating
from runs.metrics.sentence import change_words, interval_words
from runs.metrics.wording import BETTER, MATTERS, Word
from runs.models import Campaign, CaveatTest, Run, ServerConfig, Workload
from runs.models.states import FINAL
from runs.waterfall import percent
from scripts.visitor import NotThere, Visitor
from webapp.embedded import ports

LAUNCHES = 3
# Requests that keep the faster arm busy for some 38 s at each level, so that its window is 30 s
# and more. The levels lie below both arms' running limits (26 and 21): above them requests
# queue, and the headline's gain would be paid for by the time to the first token.
REQUESTS = {1: 25, 8: 140, 16: 220}
MAX_TOKENS = 256
CAVEAT = "greedy-sampling"
LAUNCH_LIMIT_S = 600.0
ANSWER_LIMIT_S = 120.0  # the sweep that settles a counter-experiment comes every few seconds
POLL_S = 1.0
ROUNDING = 0.0005  # half of the last digit of a change as it is shown: 0.1 %


@dataclass
class Report:
    """Says what was found, and remembers what was not as it must be."""

    began: float = field(default_factory=time.monotonic)
    failed: list[str] = field(default_factory=list)

    def say(self, text: str = "") -> None:
        print(text, flush=True)

    def section(self, title: str) -> None:
        self.say(f"\n== {title} ({self.minutes} min)")

    def check(self, said: str, *, holds: bool) -> None:
        self.say(f"{'ok    ' if holds else 'FAILED'}  {said}")
        if not holds:
            self.failed.append(said)

    @property
    def minutes(self) -> str:
        return f"{(time.monotonic() - self.began) / 60:.1f}"


class Missing(Exception):
    """A campaign did not end as it had to, so nothing can be read from it."""


def prove(link: str, scale: float) -> int:
    """Measure and judge all three; the exit status, 0 if everything is as it must be."""
    report = Report()
    if scale != 1:
        report.say(f"scale {scale:g}: shorter levels, noisier figures; a word may fail by chance.")
    try:
        visitor = _signed_in(link)
        _clear_the_host()
        _same_twice(report, scale)
        compared = _second_step(report, scale)
        _test_it(report, compared, visitor)
    except (Missing, NotThere) as error:
        report.check(str(error), holds=False)
    report.section("all" if not report.failed else f"{len(report.failed)} failed")
    return 1 if report.failed else 0


def _signed_in(link: str) -> Visitor:
    """At once: the link lives for half an hour, and measuring takes longer."""
    visitor = Visitor(link.partition("/sign-in/")[0])
    visitor.open(link)
    visitor.press("Sign in")
    return visitor


def _clear_the_host() -> None:
    """The demo's own first campaign would share the host's time; it is not asked for here."""
    operator, _ = Person.objects.get_or_create(username="operator")
    for run in Run.objects.unfinished():
        cancel_run(run=run, by=operator)


def _same_twice(report: Report, scale: float) -> None:
    report.section("the same config against itself")
    same = [("steps=2", 2), ("steps=2 again", 2)]
    pair = _measured(report, "Does a config differ from itself?", same, scale).pairs[0]
    word = pair.judged.judgement.sweep.word
    report.check(
        f"it says “no difference that matters” or “cannot tell”: {word}",
        holds=word in (Word.SAME, Word.CANNOT_TELL),
    )


def _second_step(report: Report, scale: float) -> Compared:
    report.section("steps 1 against 2")
    arms = [("steps=1", 1), ("steps=2", 2)]
    compared = _measured(report, "Does a second draft step pay?", arms, scale)
    pair = compared.pairs[0]
    found = pair.judged.judgement.sweep
    report.check(
        f"it says better, clearly better or likely better: {found.text}",
        holds=found.word in MATTERS & BETTER,
    )
    _check_ledger(report, pair)
    return compared


def _check_ledger(report: Report, pair: Pair) -> None:
    levels = [row.concurrency for row in pair.rows]
    found = why(pair.base, pair.other, levels, [])
    report.check(
        f"every level has its ledger{f': {found.missing}' if found.missing else ''}",
        holds=len(found.gains) == len(levels),
    )
    for gain in found.gains:
        report.say(f"  at {gain.concurrency}: {gain.words}")
        for bar, values, change, interval in gain.rows:
            report.say(f"    {bar.label:<12} {change:>8}  {interval:<18} {values}")
        report.check(
            f"accept len is the gain and step rate the cost at {gain.concurrency}",
            holds=names_the_trade(gain),
        )
        headline = next(row for row in pair.rows if row.concurrency == gain.concurrency).verdict
        ratio = headline.ratio if headline and headline.ratio else math.nan
        report.check(
            f"the bars add up to {percent(ratio)} at {gain.concurrency}: "
            f"{percent(product(bar.ratio for bar in gain.ledger.bars))}",
            holds=adds_up(gain, ratio),
        )


def names_the_trade(gain: Gain) -> bool:
    """The longest bar up is accept len, the longest down step rate, each beyond its interval."""
    bars = sorted(gain.ledger.bars, key=lambda bar: bar.d)
    down, up = bars[0], bars[-1]
    if (up.key, down.key) != ("accept_len", "steps"):
        return False
    return up.low is not None and down.high is not None and up.low > 1 > down.high


def product(ratios: Iterable[float]) -> float:
    return math.prod(ratios)


def adds_up(gain: Gain, ratio: float) -> bool:
    """Whether all bars together are the change that the verdict tells, as far as it is shown."""
    return abs(product(bar.ratio for bar in gain.ledger.bars) - ratio) <= ROUNDING


def _measured(
    report: Report, question: str, arms: Sequence[tuple[str, int]], scale: float
) -> Compared:
    """Queue the launches of a campaign, wait for their end and say what they gave."""
    port = ports.quiet()
    made = [
        NewArm(name, ServerConfig(engine="sglang", model=MODEL, flags=speculating(n), port=port))
        for name, n in arms
    ]
    campaign = launch_campaign(
        question=question,
        arms=made,
        workload=_workload(scale),
        host=Host.objects.get(name="demo-node"),
        repeats=LAUNCHES,
        by=None,
    )
    _wait(report, campaign)
    compared = compare_arms(list(campaign.arms.order_by("position")))
    _tell(report, compared.pairs[0])
    return compared


def _workload(scale: float) -> Workload:
    return Workload(
        driver="probe",
        levels=list(REQUESTS),
        requests_per_level=[max(c, round(n * scale)) for c, n in REQUESTS.items()],
        warmup_requests=2,
        prompt_set="chat",
        max_tokens=MAX_TOKENS,
        temperature=0.0,
        ignore_eos=True,
        seed=1,
        request_timeout_s=120.0,
    )


def _wait(report: Report, campaign: Campaign) -> None:
    """Until every launch has ended, each told as it ends. One that fails is made once more."""
    told: set[int] = set()
    _wait_for_all(report, campaign, told)
    if bad := missing_launches(list(campaign.runs.all())):
        report.say(f"  {len(bad)} once more, as “Run what is missing” does")
        run_missing(campaign=campaign, by=None)
        _wait_for_all(report, campaign, told)
    for run in missing_launches(list(campaign.runs.all())):
        raise Missing(f"{run} ended as {run.state}: {run.told}")


def _wait_for_all(report: Report, campaign: Campaign, told: set[int]) -> None:
    limit = time.monotonic() + LAUNCH_LIMIT_S * campaign.runs.count()
    while len(told) < campaign.runs.count():
        for run in campaign.runs.filter(state__in=FINAL).exclude(pk__in=told).order_by("position"):
            told.add(run.pk)
            took = f"{run.duration.total_seconds():.0f} s" if run.duration else "never begun"
            report.say(f"  {timezone.now():%H:%M:%S}  {run.arm}, launch {run.launch}: "
                       f"{run.state}, {took}. {run.told}".rstrip())  # fmt: skip
        if time.monotonic() > limit:
            raise Missing(f"Campaign {campaign.pk} did not end in time.")
        time.sleep(POLL_S)


def _tell(report: Report, pair: Pair) -> None:
    report.say(pair.sentence)
    report.say(f"{pair.judged.noise_words}. {pair.judged.resolution_words}.")
    for row in pair.rows:
        if (found := row.verdict) is not None:
            seconds = min(_seconds(pair, row.concurrency), default=math.nan)
            report.say(
                f"  {row.concurrency:>3}  {change_words(found):>8}  {interval_words(found):<20} "
                f"{found.text:<28} levels of {seconds:.0f} s and more"
            )


def _seconds(pair: Pair, concurrency: int) -> list[float]:
    """How long the launches stayed at a level."""
    return [
        level.ended - level.started
        for side in (pair.base, pair.other)
        for launch in side.counted
        for level in launch.measured
        if level.concurrency == concurrency and level.started and level.ended
    ]


def _test_it(report: Report, compared: Compared, visitor: Visitor) -> None:
    """As a person does: open the comparison, press the caveat's button, confirm."""
    report.section("“test it” of the greedy sampling")
    arms = "~".join(str(side.arm.pk) for side in compared.sides)
    visitor.open(f"/compare/?arms={arms}")
    visitor.follow(f"slug={CAVEAT}")
    visitor.press("Queue")
    test = CaveatTest.objects.select_related("campaign").latest("pk")
    report.say(f"queued {test.campaign.runs.count()} launches: {test.campaign.question}")
    _wait(report, test.campaign)
    pair = compare_arms(list(test.campaign.arms.order_by("position"))).pairs[0]
    _tell(report, pair)
    test = _answered(test)
    report.check(
        f"the caveat's answer is “confirmed” with a size: {test.text}",
        holds=test.outcome == CaveatTest.Outcome.CONFIRMED and "%" in test.text,
    )
    visitor.open(f"/compare/?arms={arms}")
    report.check("the answer stands on the comparison", holds=test.text in visitor.text)


def _answered(test: CaveatTest) -> CaveatTest:
    limit = time.monotonic() + ANSWER_LIMIT_S
    while not test.outcome:
        if time.monotonic() > limit:
            raise Missing("The caveat got no answer.")
        time.sleep(POLL_S)
        test.refresh_from_db()
    return test
