"""Temperature 0 makes text easy to guess, so it flatters speculation."""

from runs.caveats.base import Experiment, Facts, Finding, Rule


def find(facts: Facts) -> Finding | None:
    """Fire at temperature 0 or top-k 1, unless the server is known not to speculate."""
    if facts.speculative is False or (facts.temperature != 0 and facts.top_k != 1):
        return None
    if facts.temperature != 0:
        text = (
            "top-k 1 takes the likeliest token always: such text is easy to guess, so acceptance "
            "and speed are higher than sampled requests will see."
        )
        return Finding("greedy-sampling", text, {"top_k": 1})
    text = (
        "Temperature 0: greedy text is easy to guess, so acceptance and speed are higher than "
        "sampled requests will see."
    )
    return Finding("greedy-sampling", text, {"temperature": 0})


RULE: Rule[Facts] = Rule(
    "greedy-sampling",
    "warn",
    find,
    Experiment("temperature 0.7", {"temperature": 0.7}, confirmed_by="worse"),
)
