"""The file's times are in another unit than those shown."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste

_LATENCIES = ("ttft", "tpot", "itl", "e2e")
_SECONDS = ("s", "sec", "secs", "seconds", "秒")
_ODD = ("req/min", "requests/min", "min", "us", "µs", "ns")


def find(paste: Paste) -> Finding | None:
    """Fire when latencies were written in seconds, or rates per minute: they are shown in ms and "
    "/s."""
    for row in paste.rows:
        names = [
            name
            for name, metric in row.metrics.items()
            if (metric.native_unit in _SECONDS and name.startswith(_LATENCIES))
            or metric.native_unit in _ODD
        ]
        if names:
            text = (
                f"{row.tool} writes latencies in seconds or rates per minute; they are shown in "
                "ms and "
                "per second."
            )
            return Finding("units-converted", text, {"metrics": [*names[:20]]})
    return None
