"""Requests that wait in the server."""

from runs.caveats.base import Facts, Finding, Rule

# A line now and then is a burst, not a queue.
MIN_SHARE = 0.1


def find(facts: Facts) -> Finding | None:
    """Fire when at least a tenth of the lines say that requests wait."""
    if not facts.lines or facts.lines_waiting < MIN_SHARE * facts.lines or not facts.lines_waiting:
        return None
    running = "" if facts.running_max is None else f" beside {facts.running_max} running"
    text = (
        f"Requests wait in {facts.lines_waiting} of {facts.lines} lines, up to "
        f"{facts.waiting_max}{running}: latencies hold waiting, and more clients would not help."
    )
    evidence = {
        "lines": facts.lines,
        "lines_waiting": facts.lines_waiting,
        "waiting_max": facts.waiting_max,
        "running_max": facts.running_max,
    }
    return Finding("queueing", text, {**evidence})


RULE: Rule[Facts] = Rule("queueing", "warn", find)
