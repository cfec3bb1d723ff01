"""More requests arrive than the server can finish."""

from math import isfinite

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste, real

# Below this, arrivals at the end of a run explain the difference.
MIN_RATIO = 1.5


def find(paste: Paste) -> Finding | None:
    """Fire when the configured rate is well above the rate that was served."""
    for row in paste.rows:
        offered, served = real(paste.setting(row, "request_rate")), row.value("requests_per_s")
        if offered is None:
            offered = row.value("request_rate")
        if offered and served and isfinite(offered) and offered >= MIN_RATIO * served:
            text = (
                f"{offered:g} requests/s were offered and {served:.3g} finished: the queue grows "
                "all "
                "the time, and the time to first token is the length of the run."
            )
            return Finding(
                "open-loop-overload", text, {"offered_over_served": round(offered / served, 2)}
            )
    return None
