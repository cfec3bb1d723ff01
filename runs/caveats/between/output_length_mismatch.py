"""The arms generated texts of different length."""

from collections.abc import Sequence

from runs.caveats.arms import ArmFacts, widest
from runs.caveats.base import Experiment, Finding, Rule
from runs.metrics.format import number, share

MAX_SHARE = 0.02


def find(arms: Sequence[ArmFacts]) -> Finding | None:
    """Fire when mean output lengths at one level differ by more than 2 %."""
    gap = widest(arms, lambda arm: arm.output_lens, _apart)
    if gap is None or gap.size <= MAX_SHARE:
        return None
    base = arms[0].name
    text = (
        f"At concurrency {gap.level} {base} generated {number(gap.one)} tokens a request and "
        f"{gap.arm.name} {number(gap.two)} ({share(gap.size)} apart): shorter answers are not "
        "faster ones."
    )
    evidence = {"level": gap.level, base: round(gap.one, 2), gap.arm.name: round(gap.two, 2)}
    return Finding("output-length-mismatch", text, {**evidence})


def _apart(one: float, two: float) -> float:
    """As a share of the baseline's; of nothing there is none."""
    return abs(two / one - 1) if one else 0.0


RULE: Rule[Sequence[ArmFacts]] = Rule(
    "output-length-mismatch",
    "warn",
    find,
    Experiment("one length in all (ignore_eos)", {"ignore_eos": True}, arms="all"),
)
