"""The arms generated texts of different length."""

from collections.abc import Sequence

from runs.caveats.arms import ArmFacts, shared
from runs.caveats.base import Experiment, Finding, Rule
from runs.metrics.format import number, share

MAX_SHARE = 0.02


def find(arms: Sequence[ArmFacts]) -> Finding | None:
    """Fire when mean output lengths at one level differ by more than 2 %."""
    base = arms[0]
    gaps = [
        (abs(arm.output_lens[level] / base.output_lens[level] - 1), level, arm)
        for arm in arms[1:]
        for level in shared(base.output_lens, arm.output_lens)
        if arm.output_lens and base.output_lens and base.output_lens[level]
    ]
    if not gaps:
        return None
    gap, level, arm = max(gaps, key=lambda each: each[0])
    if gap <= MAX_SHARE or not (arm.output_lens and base.output_lens):
        return None
    one, two = base.output_lens[level], arm.output_lens[level]
    text = (
        f"At concurrency {level} {base.name} generated {number(one)} tokens a request and "
        f"{arm.name} {number(two)} ({share(gap)} apart): shorter answers are not faster ones."
    )
    evidence = {"level": level, base.name: round(one, 2), arm.name: round(two, 2)}
    return Finding("output-length-mismatch", text, {**evidence})


RULE: Rule[Sequence[ArmFacts]] = Rule(
    "output-length-mismatch",
    "warn",
    find,
    Experiment("one length in all (ignore_eos)", {"ignore_eos": True}, arms="all"),
)
