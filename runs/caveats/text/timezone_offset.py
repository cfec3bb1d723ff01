"""The carrier's clock and the server's are in different zones."""

from statistics import median

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste

QUARTER = 900
NEAR = 60


def find(paste: Paste) -> Finding | None:
    """Fire when both stamps of the lines differ by the same whole number of quarter hours."""
    if not paste.offsets_s:
        return None
    offset = median(paste.offsets_s)
    quarters = round(offset / QUARTER)
    if not quarters or abs(offset - quarters * QUARTER) > NEAR:
        return None
    hours = quarters / 4
    text = (
        f"The carrier's stamps are {hours:+g} h from the server's own: two zones. Times here are "
        "the "
        "server's."
    )
    return Finding("timezone-offset", text, {"hours": hours, "lines": len(paste.offsets_s)})
