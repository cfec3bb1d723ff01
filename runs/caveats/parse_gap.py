"""Part of the log's batch lines could not be read."""

from runs.caveats.base import Facts, Finding, Rule
from runs.engines.base import JSON
from runs.metrics.format import share

MAX_SHARE = 0.05
LEAST = 20  # of a few lines, a torn one is no gap


def find(facts: Facts) -> Finding | None:
    """Fire when more than 5 % were damaged or half read, or on labels that nobody knows."""
    lines = facts.lines + facts.damaged
    bad = facts.damaged + facts.unread_lines
    gap = bad / lines if lines >= LEAST else 0.0
    if gap <= MAX_SHARE and not facts.unknown_labels:
        return None
    evidence: dict[str, JSON] = {"lines": lines, "not_read": bad}
    if gap > MAX_SHARE:
        text = (
            f"{share(gap)} of {lines} batch lines could not be read in full: what they would have "
            "said is missing from every figure of the log."
        )
        return Finding("parse-gap", text, evidence)
    named = ", ".join(facts.unknown_labels[:4])
    text = (
        f"Batch lines hold fields that are not known here ({named}): they are kept as printed and "
        "enter no figure. A newer release of the engine may have renamed some."
    )
    return Finding("parse-gap", text, {"unknown": [*facts.unknown_labels[:8]]}, "info")


RULE: Rule[Facts] = Rule("parse-gap", "warn", find)
