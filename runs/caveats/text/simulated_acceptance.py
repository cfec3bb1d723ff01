"""The accept length was set by hand."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste, real


def find(paste: Paste) -> Finding | None:
    """Fire when the environment or the speculative config fakes acceptance."""
    simulated = real(paste.context.get("simulate_acc_len"))
    if simulated is None:
        return None
    text = (
        f"The accept len was set to {simulated:g} by hand: it is an input here, not a "
        "measurement, and "
        "the text is worth nothing."
    )
    return Finding("simulated-acceptance", text, {"simulate_acc_len": simulated})
