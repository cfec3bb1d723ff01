"""Temperature 0 makes text easy to guess, so it flatters speculation."""

from runs.caveats.base import Facts, Finding


def find(facts: Facts) -> Finding | None:
    """Fire at temperature 0, unless the server is known not to speculate."""
    if facts.temperature != 0 or facts.speculative is False:
        return None
    text = (
        "Temperature 0: greedy text is easy to guess, so acceptance and speed are higher than "
        "sampled requests will see."
    )
    return Finding("greedy-sampling", text, {"temperature": 0})
