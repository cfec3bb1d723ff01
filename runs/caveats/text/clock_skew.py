"""The carrier's clock and the server's do not agree."""

from statistics import median

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste

QUARTER = 900
# The journal stamps a line when it arrives; whole seconds and buffering explain a little.
MIN_SKEW = 5


def find(paste: Paste) -> Finding | None:
    """Fire when both stamps differ by seconds, zones aside."""
    if not paste.offsets_s:
        return None
    offset = median(paste.offsets_s)
    skew = offset - round(offset / QUARTER) * QUARTER
    if abs(skew) < MIN_SKEW:
        return None
    text = (
        f"The carrier's clock is {skew:+.0f} s from the server's: intervals are right, moments are "
        "not."
    )
    return Finding("clock-skew", text, {"seconds": round(skew, 1), "lines": len(paste.offsets_s)})
