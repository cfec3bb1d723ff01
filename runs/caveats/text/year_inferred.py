"""The stamps have no year."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste


def find(paste: Paste) -> Finding | None:
    """Fire on stamps of the form 'MM-DDTHH:MM:SS'."""
    for sample in paste.samples:
        if sample.time and sample.time[2:3] == "-" and "T" in sample.time:
            text = "The stamps have no year: the year shown anywhere is inferred."
            return Finding("year-inferred", text, {"stamp": sample.time})
    return None
