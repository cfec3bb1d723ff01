"""Decode steps that ran without a captured graph."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste, real


def find(paste: Paste) -> Finding | None:
    """Fire when a decode line says False."""
    told = [each for each in paste.decodes if each.graph is not None]
    off = [each for each in told if each.graph is False]
    if not off:
        return None
    limit = real(paste.context.get("graph_max_bs"))
    above = limit is not None and all((each.running or 0) > limit for each in off)
    why = (
        f": their batches are larger than the largest captured one, {limit:.0f}"
        if above and limit
        else ""
    )
    text = (
        f"{len(off)} of {len(told)} decode lines ran without a captured graph{why}. Each step pays "
        "for its launches one by one."
    )
    return Finding("cuda-graph-off", text, {"lines_told": len(told), "lines_off": len(off)})
