"""The stamps have no date."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste


def find(paste: Paste) -> Finding | None:
    """Fire on times of day or times since a start."""
    times = [*(each.time for each in paste.samples), *(each.time for each in paste.requests)]
    for time in times:
        if time and "T" not in time:
            text = (
                "The stamps have no date: they are times of day, or times since the process began."
            )
            return Finding("date-missing", text, {"stamp": time})
    if paste.requests and not any(times):
        return Finding("date-missing", "The lines have no time at all.", {"stamp": None})
    return None
