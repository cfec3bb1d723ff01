"""The client sent no warm-up requests."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste


def find(paste: Paste) -> Finding | None:
    """Fire when the client says that it warms nothing up."""
    for row in paste.rows:
        if paste.setting(row, "warmup_requests") == 0:
            text = (
                "No warm-up requests were sent: the first measured ones may hold compilation and "
                "first shapes."
            )
            return Finding("jit-warmup-unknown", text, {"warmup_requests": 0})
    return None
