"""Running requests were thrown out of the pool and computed again."""

from runs.caveats.base import Facts, Finding, Rule


def find(facts: Facts) -> Finding | None:
    """Fire on any retracted or preempted request while a level was measured."""
    if not facts.retracted:
        return None
    many = facts.retracted != 1
    text = (
        f"{facts.retracted} running request{'s were' if many else ' was'} retracted while levels "
        "were measured: the pool was full, and those tokens are computed twice."
    )
    return Finding("retraction", text, {"requests": facts.retracted})


RULE: Rule[Facts] = Rule("retraction", "warn", find)
