"""From two sides to a verdict: which launches, which noise, and what stands in a word's way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from runs.answers import NONE, Answers
from runs.caveatgroups import CaveatGroup, caveat_groups
from runs.history import Beside, Past, past_of
from runs.metrics.equalrate import at_equal_rate
from runs.metrics.format import number, share
from runs.metrics.looking import LEAST_LAUNCHES
from runs.metrics.noise import Noise
from runs.metrics.planning import resolution
from runs.metrics.sentence import verdict_sentence
from runs.metrics.verdict import MOST_FAILED, Case, Judgement, verdict
from runs.models import Level
from runs.sides import FIGURES, Launch, Side

RATE = "output_tps"
# metrics that may not get worse while the headline gets better
GUARDED = ("ttft_p50", "tpot_p50")
# why nothing may be concluded, in the words of a verdict; other caveats tell their title
UNSAFE = {
    "simulated-acceptance": "acceptance was set by hand",
    "restart-in-window": "the server restarted while it was measured",
    "wrong-server": "another server answered",
    "random-tokens": "prompts are random token ids",
    "foreign-load": "somebody else used the server or its GPUs",
    "stale-log": "the log is not of the time that was measured",
    "per-rank-throughput": "the log tells of one DP rank alone",
    "env-differs": "the GPUs are of another model",
}
# what makes two arms two questions, by the settings of their workload
CORPUS = ("prompt_set", "prompts", "input_tokens", "max_tokens")
QUANTIZATION = "--quantization"
PLANNED = 3  # launches per arm that the form proposes


@dataclass(frozen=True)
class Judged:
    """A judgement and what it was judged by. ``paired``: launches stood in blocks."""

    metric: str
    judgement: Judgement
    paired: bool
    host: str

    def words(self, before: str, after: str) -> str:
        return verdict_sentence(self.judgement, self.metric, before, after)

    @property
    def noise_words(self) -> str:
        """ "Noise 1.2 % a launch, from 8 earlier repeats on llm-two", or that it is assumed."""
        noise = self._noise
        if noise is None:
            return ""
        percent = f"{number(noise.sd * 100, 1)} % a launch"
        if noise.assumed:
            return f"Noise assumed: {percent}"
        return f"Noise {percent}, from {noise.history} earlier repeats on {self.host}"

    @property
    def resolution_words(self) -> str:
        noise, found = self._noise, self.judgement.sweep
        if noise is None:
            return ""
        launches = min(len(found.before), len(found.after))
        if launches > 1:
            told = number(resolution(noise, launches, paired=self.paired) * 100, 1)
            return f"Resolution here: {told} % with {launches} launches"
        told = number(resolution(noise, PLANNED) * 100, 1)
        return f"{PLANNED} launches each would tell {told} %"

    @property
    def _noise(self) -> Noise | None:
        found = self.judgement.sweep
        if found.noise is not None:
            return found.noise
        return next((each.noise for each in self.judgement.levels if each.noise), None)


def judge(
    base: Side,
    other: Side,
    metric: str,
    given: Answers = NONE,
    *,
    past: Past | None = None,
    anyway: bool = False,
    exploratory: bool = False,
) -> Judged:
    """Judge ``other`` against ``base``. Launches count in the order in which they were started.

    ``given`` are the answers to caveats: one that was dismissed blocks no word. ``anyway``: the
    load differs on purpose. ``past`` is of these arms and maybe others; else it is asked for.
    ``exploratory``: a figure beside the headline.
    """
    before, after = _in_order(base), _in_order(other)
    paired = in_blocks(before, after)
    arms = [base.arm, other.arm]
    earlier = (past or past_of(arms)).beside(arms)
    reasons = [] if anyway else not_comparable(base, other)
    looks = looks_of(base, other)
    guards = tuple(
        _guard(name, before, after, earlier, paired=paired, looks=looks) for name in GUARDED
    )
    unsafe = failures([*before, *after])
    case = _case(
        metric,
        before,
        after,
        earlier,
        paired=paired,
        guards=guards,
        not_comparable=reasons,
        blocking=blocking(caveat_groups([base, other], given), metric),
        looks=looks,
        unsafe=unsafe,
        exploratory=exploratory,
    )
    return Judged(metric, verdict(case), paired, base.arm.host.name)


def looks_of(base: Side, other: Side) -> int:
    """How often the plan of both arms looks at their results; one where they share no plan."""
    if base.arm.campaign_id != other.arm.campaign_id or min(base.n, other.n) < LEAST_LAUNCHES:
        return 1
    return len(base.arm.campaign.looks) or 1


def _in_order(side: Side) -> list[Launch]:
    began = [launch.run.started_at for launch in side.counted]
    if any(moment is None for moment in began):
        return side.counted
    return sorted(side.counted, key=lambda launch: (launch.run.started_at, launch.run.pk))


def in_blocks(before: Sequence[Launch], after: Sequence[Launch]) -> bool:
    """Whether one launch of each arm always stood next to each other, on one host: A B B A."""
    both = [*before, *after]
    if len(before) != len(after) or len(before) < 2 or len({x.run.host_id for x in both}) > 1:
        return False
    moments = [launch.run.started_at for launch in both]
    if any(moment is None for moment in moments):
        return False
    arms = [
        arm for _, arm in sorted(zip(moments, [0] * len(before) + [1] * len(after), strict=True))
    ]
    return all({a, b} == {0, 1} for a, b in zip(arms[::2], arms[1::2], strict=True))


def _case(
    metric: str,
    before: Sequence[Launch],
    after: Sequence[Launch],
    earlier: Beside,
    *,
    paired: bool,
    **more: Any,
) -> Case:
    left, right = _launches(before, metric), _launches(after, metric)
    levels = sorted({level for launch in (*left, *right) for level in launch})
    shared = [level for level in levels if all(level in launch for launch in (*left, *right))]
    column = FIGURES[metric]
    return Case(
        before=left,
        after=right,
        metric=metric,
        noise={level: earlier.level_noise(column, metric, level) for level in levels},
        sweep_noise=earlier.sweep_noise(column, shared),
        paired=paired,
        **more,
    )


def _guard(
    metric: str,
    before: Sequence[Launch],
    after: Sequence[Launch],
    earlier: Beside,
    **more: Any,
) -> Case:
    """A latency at equal concurrency, and beside it at the output tok/s that the baseline had."""
    found = _case(metric, before, after, earlier, **more)
    wanted, rates = _launches(before, RATE), _launches(after, RATE)
    eased = at_equal_rate(found.after, rates, wanted)
    return replace(found, at_rate=replace(found, after=eased) if any(eased) else None)


def _launches(launches: Sequence[Launch], metric: str) -> list[dict[int, float]]:
    """Each launch's figures by level; what was not measured, or is no speed, is left out."""
    return [
        {
            level.concurrency: value
            for level in launch.measured
            if (value := getattr(level, FIGURES[metric])) is not None and value > 0
        }
        for launch in launches
    ]


def failures(launches: Sequence[Launch]) -> dict[int, str]:
    """Levels at which more requests failed than a throughput may lose."""
    shares = {
        (launch.run.pk, level.concurrency): _failed(level)
        for launch in launches
        for level in launch.measured
    }
    worst: dict[int, tuple[float, int]] = {}
    for (run, concurrency), part in shares.items():
        if part > MOST_FAILED:
            worst[concurrency] = max(worst.get(concurrency, (0.0, 0)), (part, run))
    return {
        c: f"{share(part)} of the requests failed in run {run}" for c, (part, run) in worst.items()
    }


def _failed(level: Level) -> float:
    return level.failed / level.requests if level.requests else 0.0


def blocking(groups: Sequence[CaveatGroup], metric: str) -> list[str]:
    """What rules found that forbids any conclusion about a figure, in words."""
    found = [group for group in groups if group.blocks and group.metric in ("", metric)]
    return [UNSAFE.get(group.slug, group.title.lower()) for group in found]


def not_comparable(base: Side, other: Side) -> list[str]:
    """Why the two arms answer two questions; what one of them does not tell differs in nothing."""
    one, two = base.arm, other.arm
    reasons = []
    if PurePosixPath(one.config.model).name != PurePosixPath(two.config.model).name:
        reasons.append("another model")
    if one.config.flags.get(QUANTIZATION) != two.config.flags.get(QUANTIZATION):
        reasons.append("another quantization")
    ours, theirs = one.workload.settings(), two.workload.settings()
    differing = [
        name.replace("_", " ")
        for name in CORPUS
        if ours[name] and theirs[name] and ours[name] != theirs[name]
    ]
    return reasons + ([f"another workload: {', '.join(differing)}"] if differing else [])
