"""Decode lines that hold idle time and were left out of means."""

from runs.caveats.base import Facts, Finding, Rule


def find(facts: Facts) -> Finding | None:
    """Fire when a partial line was left out."""
    if not facts.partial_lines:
        return None
    text = (
        f"{facts.partial_lines} of {facts.lines} decode lines hold time in which nothing was "
        "decoded; their throughput is left out of means, their accept len is not."
    )
    evidence = {"lines": facts.lines, "partial_lines": facts.partial_lines}
    return Finding("idle-window", text, {**evidence})


RULE: Rule[Facts] = Rule("idle-window", "info", find)
