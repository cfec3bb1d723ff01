"""Text forced past its natural end repeats itself."""

from runs.caveats.base import Experiment, Facts, Finding, Rule


def find(facts: Facts) -> Finding | None:
    """Fire when the end of text was ignored, unless the server is known not to speculate."""
    if facts.ignore_eos is not True or facts.speculative is False:
        return None
    text = (
        "ignore_eos: the output is forced past its natural end, where it tends to repeat itself "
        "and is easy to guess."
    )
    return Finding("ignore-eos", text, {"ignore_eos": True})


RULE: Rule[Facts] = Rule(
    "ignore-eos",
    "warn",
    find,
    Experiment("natural end", {"ignore_eos": False}, confirmed_by="worse"),
)
