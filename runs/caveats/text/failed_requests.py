"""Not all requests succeeded."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste, real


def find(paste: Paste) -> Finding | None:
    """Fire on failed requests that a row or the client's output tells of."""
    failed = sum(row.value("failed") or 0 for row in paste.rows)
    short = _missing(paste)
    if not failed and not short and not paste.failures:
        return None
    count = max(failed, short)
    how_many = f"{count:.0f} requests" if count else "Requests"
    said = f" ({paste.failures[0][:120]})" if paste.failures else ""
    text = (
        f"{how_many} failed{said}: speeds are of the rest, and the rest had the server for itself."
    )
    return Finding("failed-requests", text, {"failed": int(count), "told": len(paste.failures)})


def _missing(paste: Paste) -> float:
    """Count requests that were asked for and did not complete, over rows that tell both."""
    missing = 0.0
    for row in paste.rows:
        asked, completed = real(paste.setting(row, "num_prompts")), row.value("completed")
        if asked is not None and completed is not None and row.value("failed") is None:
            missing += max(0.0, asked - completed)
    return missing
