"""All requests were sent at once."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste


def find(paste: Paste) -> Finding | None:
    """Fire when neither a rate nor a concurrency limited the client."""
    for row in paste.rows:
        rate = paste.setting(row, "request_rate")
        unlimited = rate in ("inf", "Infinity") or (
            isinstance(rate, float) and rate == float("inf")
        )
        if unlimited and row.concurrency is None:
            text = (
                "Neither a rate nor a concurrency was set: all requests were sent at once, and "
                "the time "
                "to first token is mostly waiting."
            )
            return Finding("all-at-once", text, {"completed": row.value("completed")})
    return None
