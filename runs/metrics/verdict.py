"""The one judgement of a comparison: a word from a closed list, with the figures behind it.

Launches are the units, ratios the scale. Page, API, commands and exports all ask `verdict`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, geometric_mean

from runs.metrics.catalogue import METRICS
from runs.metrics.estimate import Estimate, estimate, far_off, permutation_p
from runs.metrics.format import rounded
from runs.metrics.noise import Noise, assumed_noise
from runs.metrics.planning import ALPHA, alpha_of, benjamini_hochberg, holm, repeats_needed
from runs.metrics.special import t_quantile
from runs.metrics.wording import BETTER, DIRECTED, MATTERS, WORSE, Word

# More failed requests than this share, and a throughput says nothing.
MOST_FAILED = 0.005
# A t test that is this sure is checked by permutation; one that is this unsure contradicts it.
_SURE, _UNSURE = 0.01, 0.1
_CHECKED_FROM = 4
_FOUND_FALSE = 0.1  # share of what is found beside the headline that may be false
_FEW = 2  # launches per arm that make a word "likely" at most


def smallest_that_matters(metric: str) -> float:
    """The relative change below which nobody cares: 2 % of a throughput, 3 % of a median time."""
    if metric == "accept_len":
        return 0.01
    if metric in METRICS and METRICS[metric].unit == "s":
        return 0.05 if metric.endswith(("p90", "p99")) else 0.03
    return 0.02


@dataclass(frozen=True, slots=True)
class Case:
    """What is to be judged: launches in the order of their blocks, each level to its figure.

    Figures are above zero, in the metric's base unit. `noise` is a launch's noise by level
    (assumed where it is missing), `sweep_noise` that of a launch's mean over levels. `unsafe`
    says of single levels why no word may be said, `blocking` of all of them. `looks` is how often
    the plan looks at the results. `guards` are other metrics that may not get worse; `at_rate`
    is such a metric at the rate that the baseline achieved, and what is not worse there is the
    price of serving more, no loss. `delta` is
    the smallest change that matters; by default the metric's. What is `exploratory` was looked at
    beside the headline: over its levels one finding in ten may be false.
    """

    before: Sequence[Mapping[int, float]]
    after: Sequence[Mapping[int, float]]
    metric: str = "output_tps"
    delta: float | None = None
    noise: Mapping[int, Noise] = field(default_factory=dict)
    sweep_noise: Noise | None = None
    paired: bool = False
    looks: int = 1
    not_comparable: Sequence[str] = ()
    blocking: Sequence[str] = ()
    unsafe: Mapping[int, str] = field(default_factory=dict)
    guards: Sequence["Case"] = ()
    at_rate: "Case | None" = None
    exploratory: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """One figure at one level; over a whole sweep `concurrency` is None.

    `ratio` is after over before, whichever direction is good, and so are `low` and `high`, its
    interval. `p_adjusted` is `p` in view of all levels. `more` is how many further launches per
    arm might decide. `factor` is the change in half-widths of the interval. None is not known.
    """

    word: Word
    concurrency: int | None
    before: tuple[float, ...]
    after: tuple[float, ...]
    likely: bool = False
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    factor: float | None = None
    more: int | None = None
    noise: Noise | None = None
    remarks: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The bare word: "better", "likely better"."""
        return f"likely {self.word}" if self.likely else str(self.word)

    @property
    def judged(self) -> bool:
        """Whether there were launches enough for an interval."""
        return self.low is not None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The levels in ascending order, and the sweep over those that every launch covers.

    `matched` are the levels measured in both arms. `alpha` is one less the confidence of the
    intervals, `guards` what became of the other metrics, `against` which of them got worse.
    """

    levels: tuple[Verdict, ...]
    sweep: Verdict
    matched: tuple[int, ...]
    delta: float
    alpha: float
    guards: tuple["Judgement", ...] = ()
    against: tuple[str, ...] = ()

    @property
    def confidence(self) -> str:
        """Of the intervals, in whole per cent: "95", or "98" where a plan looks three times."""
        return rounded((1 - self.alpha) * 100, 0)

    def at(self, concurrency: int) -> Verdict | None:
        return next((each for each in self.levels if each.concurrency == concurrency), None)


def verdict(case: Case) -> Judgement:
    """Judge every level and the sweep. Raises ValueError for figures that are not above zero."""
    concurrencies = sorted({level for launch in (*case.before, *case.after) for level in launch})
    told = [_Told.at(case, concurrency) for concurrency in concurrencies]
    ps = [one.estimate.p for one in told if one.estimate is not None]
    adjust = benjamini_hochberg if case.exploratory else holm
    rules, adjusted = _Rules(case, tests=len(ps)), iter(adjust(ps))
    levels = tuple(
        rules.judge(one, next(adjusted) if one.estimate else None, case.unsafe.get(concurrency))
        for one, concurrency in zip(told, concurrencies, strict=True)
    )
    matched = tuple(one.concurrency for one in told if one.is_matched and one.concurrency)
    guards = tuple(verdict(guard) for guard in case.guards)
    against = _against(case, guards)
    sweep = _mixed(_sweep(case, rules, matched, levels), levels, against)
    return Judgement(levels, sweep, matched, rules.delta, rules.alpha, guards, against)


@dataclass(frozen=True, slots=True)
class _Told:
    """The figures of one level (or of the sweep), and their difference where it can be told."""

    concurrency: int | None
    before: tuple[float, ...]
    after: tuple[float, ...]
    noise: Noise
    estimate: Estimate | None
    paired: bool

    @property
    def is_matched(self) -> bool:
        return bool(self.before and self.after)

    @classmethod
    def at(cls, case: Case, concurrency: int) -> "_Told":
        noise = case.noise.get(concurrency) or assumed_noise(case.metric)
        pairs = list(zip(case.before, case.after, strict=False))
        if case.paired and len(case.before) == len(case.after):
            whole = [(a, b) for a, b in pairs if concurrency in a and concurrency in b]
            before = tuple(a[concurrency] for a, _ in whole)
            after = tuple(b[concurrency] for _, b in whole)
            return cls.of(concurrency, before, after, noise, paired=bool(whole))
        before = tuple(each[concurrency] for each in case.before if concurrency in each)
        after = tuple(each[concurrency] for each in case.after if concurrency in each)
        return cls.of(concurrency, before, after, noise, paired=False)

    @classmethod
    def of(
        cls,
        concurrency: int | None,
        before: tuple[float, ...],
        after: tuple[float, ...],
        noise: Noise,
        *,
        paired: bool,
    ) -> "_Told":
        many = min(len(before), len(after)) > 1
        found = estimate(before, after, noise, paired=paired) if many else None
        return cls(concurrency, before, after, noise, found, paired and many)

    @property
    def ratio(self) -> float:
        if self.estimate is not None:
            return self.estimate.ratio
        return math.exp(fmean(map(math.log, self.after)) - fmean(map(math.log, self.before)))


class _Rules:
    """How a difference becomes a word: the order of the tests is the order of the methods' ifs."""

    def __init__(self, case: Case, tests: int) -> None:
        self.case = case
        self.delta = smallest_that_matters(case.metric) if case.delta is None else case.delta
        self.alpha = alpha_of(case.looks)
        self.most_p = _FOUND_FALSE if case.exploratory else self.alpha
        self.tests = max(1, tests)
        better = METRICS[case.metric].better if case.metric in METRICS else "up"
        if better is None:
            raise ValueError(f"{case.metric} has no direction that is better")
        self.sign = 1 if better == "up" else -1

    def judge(
        self, told: _Told, adjusted: float | None, unsafe: str | None, *, alone: bool = False
    ) -> Verdict:
        """The verdict on one level; `alone` for the sweep, which is one test by itself."""
        if not told.is_matched:
            return Verdict(Word.NOT_MEASURED, told.concurrency, told.before, told.after)
        bare = self._figures(told, adjusted)
        case = self.case
        if case.not_comparable:
            return replace(bare, word=Word.NOT_COMPARABLE, remarks=tuple(case.not_comparable))
        reasons = [*case.blocking, *([unsafe] if unsafe else [])]
        if reasons:
            return replace(bare, word=Word.UNSAFE, remarks=tuple(reasons))
        if told.estimate is None:
            return replace(bare, word=Word.HINT, remarks=(_usual(told),))
        return self._word(bare, told, told.estimate, 1 if alone else self.tests)

    def _figures(self, told: _Told, adjusted: float | None) -> Verdict:
        found = told.estimate
        shown = Verdict(
            Word.CANNOT_TELL, told.concurrency, told.before, told.after, ratio=told.ratio,
            noise=told.noise,
        )  # fmt: skip
        if found is None:
            return shown
        low, high = found.interval(self.alpha)
        return replace(
            shown, low=low, high=high, p=found.p, p_adjusted=adjusted, factor=found.factor
        )

    def _word(self, bare: Verdict, told: _Told, found: Estimate, tests: int) -> Verdict:
        adjusted = bare.p if bare.p_adjusted is None else bare.p_adjusted
        word = self._directed(found, adjusted or 0.0, tests) or self._undirected(found)
        few = min(len(told.before), len(told.after)) <= _FEW
        likely = word is not Word.CANNOT_TELL and (told.noise.assumed or (few and word in DIRECTED))
        if likely and word in MATTERS:  # "likely clearly better" would be two words for one thing
            word = Word.BETTER if word in BETTER else Word.WORSE
        return replace(
            bare,
            word=word,
            likely=likely,
            more=self._more(told, found) if word is Word.CANNOT_TELL else None,
            remarks=tuple(self._remarks(told, found)),
        )

    def _directed(self, found: Estimate, adjusted: float, tests: int) -> Word | None:
        """Better or worse, mirrored: `d` is turned so that above zero is good."""
        d, limit = self.sign * found.d, math.log1p(self.delta)
        if abs(d) <= found.half_width(self.alpha) or adjusted >= self.most_p:
            return None
        better = d > 0
        if abs(d) - found.half_width(self.alpha / tests) > limit:
            return Word.CLEARLY_BETTER if better else Word.CLEARLY_WORSE
        if abs(d) >= limit:
            return Word.BETTER if better else Word.WORSE
        return Word.SMALL_GAIN if better else Word.SMALL_LOSS

    def _undirected(self, found: Estimate) -> Word:
        """Two one-sided tests show that nothing beyond the smallest change is there."""
        if abs(found.d) + found.half_width(2 * self.alpha) < math.log1p(self.delta):
            return Word.SAME
        return Word.CANNOT_TELL

    def _more(self, told: _Told, found: Estimate) -> int:
        target = max(abs(found.d), self.delta)
        needed = repeats_needed(target, found.sd, told.noise.df, paired=told.paired)
        return max(1, needed - min(len(told.before), len(told.after)))

    def _remarks(self, told: _Told, found: Estimate) -> list[str]:
        said = []
        if told.noise.assumed:
            said.append(f"assumed noise {told.noise.sd * 100:.2g} %")
        if found.p < _SURE and min(len(told.before), len(told.after)) >= _CHECKED_FROM:
            dealt = None if told.paired else permutation_p(told.before, told.after)
            if dealt is not None and dealt > _UNSURE:
                said.append("depends on normality")
        return said + self._far_off(told)

    def _far_off(self, told: _Told) -> list[str]:
        """Launches that lie far off, each with what the change would be without it."""
        said = []
        for name, values, others in (
            ("baseline", told.before, told.after),
            ("candidate", told.after, told.before),
        ):
            for place in far_off(values, told.noise):
                rest = values[:place] + values[place + 1 :]
                both = (rest, others) if name == "baseline" else (others, rest)
                without = estimate(*both, told.noise)
                change = "" if without is None else f"; without it {without.ratio - 1:+.1%}"
                said.append(f"launch {place + 1} of the {name} lies far off its arm{change}")
        return said


def _usual(told: _Told) -> str:
    """What a single launch may say of itself."""
    noise = told.noise
    reach = t_quantile(1 - ALPHA / 2, noise.df) * noise.sd * math.sqrt(2)
    size = "larger than" if abs(math.log(told.ratio)) > reach else "within"
    return f"{size} the usual noise"


def _sweep(
    case: Case,
    rules: _Rules,
    matched: Sequence[int],
    levels: Sequence[Verdict],
) -> Verdict:
    """The launches' means over levels, judged as one figure."""
    launches = [launch for launch in (*case.before, *case.after) if launch]
    shared = [level for level in matched if all(level in launch for launch in launches)]
    if len(matched) <= 1:
        alone = next((each for each in levels if each.concurrency in matched), None)
        found = alone or Verdict(Word.NOT_MEASURED, None, (), ())
        return replace(found, concurrency=None)
    if not shared:
        return Verdict(Word.CANNOT_TELL, None, (), (), remarks=("incomplete sweep",))
    before = tuple(_mean(launch, shared) for launch in case.before if launch)
    after = tuple(_mean(launch, shared) for launch in case.after if launch)
    noises = [case.noise.get(level) or assumed_noise(case.metric) for level in shared]
    noise = case.sweep_noise or max(noises, key=lambda each: each.sd)
    paired = case.paired and len(before) == len(after)
    figures = _Told.of(None, before, after, noise, paired=paired)
    unsafe = next((case.unsafe[level] for level in shared if level in case.unsafe), None)
    found = rules.judge(figures, None, unsafe, alone=True)
    left_out = [str(level) for level in matched if level not in shared]
    if left_out:
        said = f"incomplete sweep: not every launch measured {', '.join(left_out)}"
        found = replace(found, remarks=(*found.remarks, said))
    return found


def _mean(launch: Mapping[int, float], levels: Sequence[int]) -> float:
    return geometric_mean([launch[level] for level in levels])


def _against(case: Case, guards: Sequence[Judgement]) -> tuple[str, ...]:
    """Which guarded metrics got worse by more than nobody would care about, and where."""
    said = []
    for guard, found in zip(case.guards, guards, strict=True):
        worse = [each for each in (*found.levels, found.sweep) if each.word in MATTERS & WORSE]
        eased = verdict(guard.at_rate) if worse and guard.at_rate else None
        worse = [each for each in worse if not _excused(eased, each.concurrency)]
        where = [str(each.concurrency) for each in worse if each.concurrency is not None]
        label = METRICS[guard.metric].label
        if where:
            said.append(f"{label} worse at {', '.join(where)}")
        elif worse:
            said.append(f"{label} worse over the sweep")
    return tuple(said)


def _excused(eased: Judgement | None, concurrency: int | None) -> bool:
    """Whether the metric was judged at equal rate as well, and is not worse there."""
    if eased is None:
        return False
    found = eased.sweep if concurrency is None else eased.at(concurrency)
    return found is not None and found.judged and found.word not in MATTERS & WORSE


def _mixed(found: Verdict, levels: Sequence[Verdict], against: Sequence[str]) -> Verdict:
    """No single winner where levels contradict each other, or a guarded metric the sweep."""
    if found.word in (Word.NOT_COMPARABLE, Word.UNSAFE):
        return found
    words = {each.word for each in levels}
    if (words & BETTER and words & WORSE) or (found.word in BETTER and against):
        return replace(found, word=Word.MIXED, more=None)
    return found
