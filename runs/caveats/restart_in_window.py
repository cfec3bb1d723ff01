"""The server was started again while it was measured."""

from runs.caveats.base import Facts, Finding, Rule


def find(facts: Facts) -> Finding | None:
    """Fire on a start-up in the log while levels were measured."""
    if not facts.restarts:
        return None
    times = "once" if facts.restarts == 1 else f"{facts.restarts} times"
    text = (
        f"The server started anew {times} while levels were measured: figures before and after "
        "are not of one launch, and what was in flight is lost."
    )
    return Finding("restart-in-window", text, {"starts": facts.restarts})


RULE: Rule[Facts] = Rule("restart-in-window", "block", find)
