"""The peak counts chunks, so it lies below the mean."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste
from runs.metrics.format import number


def find(paste: Paste) -> Finding | None:
    """Fire when the peak output throughput is below the mean one."""
    for row in paste.rows:
        peak, mean = row.value("peak_output_tps"), row.value("output_tps")
        if peak and mean and peak < mean:
            text = (
                f"The peak output throughput ({number(peak)} tok/s) lies below the mean "
                f"({number(mean)}): it counts chunks, not tokens."
            )
            return Finding("chunk-counted-peak", text, {"mean_over_peak": round(mean / peak, 3)})
    return None
