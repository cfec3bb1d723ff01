"""Nearly every draft is accepted: a sign of text that repeats itself."""

from statistics import median

from runs.caveats.base import Experiment, Facts, Finding, Rule
from runs.metrics.acceptance import strict_rate

PERFECT = 0.99
MIN_LENGTH = 2.5  # with one step such a rate is reached by honest text
MIN_LINES = 3


def find(facts: Facts) -> Finding | None:
    """Fire on a median acceptance of 99 % or more, unless it was set by hand."""
    if facts.draft_tokens is None or facts.simulated is not None:
        return None
    long = [length for length, _ in facts.accept_pairs if length >= MIN_LENGTH]
    rates = [rate for n in long if (rate := strict_rate(n, facts.draft_tokens)) is not None]
    if len(rates) < MIN_LINES or median(rates) < PERFECT:
        return None
    text = (
        f"{median(rates):.1%} of the drafts are accepted (median of {len(rates)} lines): on prose "
        "that is a sign of text that loops. Read the output before you believe the speed."
    )
    evidence = {"accepted": round(median(rates), 4), "lines": len(rates)}
    return Finding("degenerate-output", text, {**evidence})


RULE: Rule[Facts] = Rule(
    "degenerate-output",
    "warn",
    find,
    Experiment("temperature 0.7", {"temperature": 0.7}, confirmed_by="worse"),
)
