"""Too few requests for the concurrency."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste

MIN_WAVES = 10


def find(paste: Paste) -> Finding | None:
    """Fire below ten waves of requests."""
    few = []
    for row in paste.rows:
        completed, clients = row.value("completed"), row.concurrency
        sent = (completed or 0) + (row.value("failed") or 0)
        if completed and clients and clients > 1 and sent < MIN_WAVES * clients:
            few.append((sent / clients, sent, row))
    if not few:
        return None
    waves, sent, row = min(few, key=lambda each: each[0])
    text = (
        f"{sent:.0f} requests at concurrency {row.concurrency} are {waves:.1f} "
        "waves: "
        "ramp and drain are a large part of the run. Ten waves are the usual minimum."
    )
    return Finding("too-few-prompts", text, {"waves": round(waves, 2), "line": row.line})
