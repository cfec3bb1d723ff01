"""Decode lines that hold idle time and were left out of means."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste
from runs.metrics.window import partial_windows


def find(paste: Paste) -> Finding | None:
    """Fire when a partial line was left out."""
    partial = partial_windows(paste.samples)
    if not partial:
        return None
    lines = len(paste.decodes)
    text = (
        f"{len(partial)} of {lines} decode lines hold time in which nothing was decoded; their "
        "throughput is left out of means, their accept len is not."
    )
    return Finding("idle-window", text, {"lines": lines, "partial_lines": len(partial)})
