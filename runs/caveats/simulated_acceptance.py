"""Acceptance was set by hand."""

from runs.caveats.base import Facts, Finding, Rule


def find(facts: Facts) -> Finding | None:
    """Fire when the environment or a flag fakes acceptance."""
    if facts.simulated is None:
        return None
    text = (
        f"Acceptance was set by hand ({facts.simulated}): accept len is an input here, no "
        "measurement, and the text is worth nothing. Only step times may be taken from such a run."
    )
    return Finding("simulated-acceptance", text, {"set_by": facts.simulated})


RULE: Rule[Facts] = Rule("simulated-acceptance", "block", find)
