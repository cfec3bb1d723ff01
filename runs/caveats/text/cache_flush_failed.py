"""The server refused to flush its cache."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste


def find(paste: Paste) -> Finding | None:
    """Fire on the server's refusal."""
    refused = [each for each in paste.events if each.kind == "flush_refused"]
    if not refused:
        return None
    text = (
        "The server refused to flush its cache because requests were pending: the next run begins "
        "with a warm one."
    )
    return Finding("cache-flush-failed", text, {"times": len(refused), "line": refused[0].line})
