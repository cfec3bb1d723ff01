"""The client's accept length is the server's mean since its start."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste


def find(paste: Paste) -> Finding | None:
    """Fire when a row holds such a length."""
    for row in paste.rows:
        length = row.value("accept_len_cumulative")
        if length is not None:
            text = (
                f"The client's accept length ({length:.2f}) is the server's mean since its start "
                "or "
                "flush, warm-up and earlier runs included. The run's own stands in the server's "
                "log."
            )
            return Finding("accept-len-cumulative", text, {"accept_len": length, "line": row.line})
    return None
