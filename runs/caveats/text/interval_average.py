"""vLLM prints means over ten seconds."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste


def find(paste: Paste) -> Finding | None:
    """Fire on interval lines."""
    if not paste.intervals:
        return None
    text = (
        "vLLM's lines are means over an interval (ten seconds unless changed): a burst inside one "
        "is "
        "not seen, and the first and last hold idle time."
    )
    return Finding("interval-average", text, {"intervals": len(paste.intervals)})
