"""Requests wait in the server."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste
from runs.engines.base import JSON

# A line now and then is a burst, not a queue.
MIN_SHARE = 0.1


def find(paste: Paste) -> Finding | None:
    """Fire when at least a tenth of the lines say so; prefill lines count where nothing decodes."""
    lines = paste.decodes or paste.intervals or paste.prefills
    waiting = [each.waiting for each in lines if each.waiting]
    if not waiting or len(waiting) < MIN_SHARE * len(lines):
        return None
    most = max(waiting)
    text = (
        f"Requests wait in {len(waiting)} of {len(lines)} lines, up to {most}: latencies hold "
        "waiting, and more clients would not help."
    )
    evidence: dict[str, JSON] = {
        "lines": len(lines),
        "lines_waiting": len(waiting),
        "waiting_max": most,
    }
    return Finding("queueing", text, evidence)
